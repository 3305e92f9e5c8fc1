#include "tests/operators/op_test.h"
#include "tests/operators/quantized/int8_test_util.h"

namespace caffe2::testing {
namespace {

TEST_F(Int8Test, Sums) {
  FeedRandomLevels(&ws_, "A", {2, 5, 6, 4}, 2, 0.125f, 30);
  FeedDequantized(&ws_, "A", "a");
  const OperatorDef sum = Op("Sum", {"x", "a"}, {"y"});
  for (const char* type : {"Int8Add", "Int8Sum"}) {
    ExpectSame(Op(type, {"X", "A"}, {"Y"}, WithScale({}, 0.3f, 90)), sum, 0);
  }
  for (const char* type : {"Int8AddRelu", "Int8SumRelu"}) {
    ExpectSame(Op(type, {"X", "A"}, {"Y"}, WithScale({}, 0.3f, 90)), sum, 0, 90);
  }
  ExpectSame(Op("Int8Sum", {"X", "A", "X"}, {"Y"}, WithScale({}, 0.5f, 120)),
             Op("Sum", {"x", "a", "x"}, {"y"}), 0);
  const std::vector<int> levels = FetchLevels(ws_, "Y");
  RunOp(&ws_, Op("Int8Sum", {"X", "A", "X"}, {"X"}, WithScale({}, 0.5f, 120)));  // in place
  EXPECT_EQ(FetchLevels(ws_, "X"), levels);
  FeedRandomLevels(&ws_, "A", {2, 5, 6, 3}, 2, 0.125f, 30);
  ExpectThrows(&ws_, Op("Int8Add", {"X", "A"}, {"Y"}), "no broadcasting");
  ExpectThrows(&ws_, Op("Int8Add", {"X", "x"}, {"Y"}), "Int8TensorCPU");
}

}  // namespace
}  // namespace caffe2::testing
