#include "tests/operators/op_test.h"
#include "tests/operators/quantized/int8_test_util.h"

namespace caffe2::testing {
namespace {

TEST_F(Int8Test, Activations) {
  ExpectSame(Op("Int8Relu", {"X"}, {"Y"}, Kept()), Op("Relu", {"x"}, {"y"}), 0);
  ExpectSame(Op("Int8LeakyRelu", {"X"}, {"Y"}, Kept({MakeArgument("alpha", 0.3f)})),
             Op("LeakyRelu", {"x"}, {"y"}, {MakeArgument("alpha", 0.3f)}), 1);
  const std::vector<Argument> unit = WithScale({}, 1.f / 256, 0);
  ExpectSame(Op("Int8Sigmoid", {"X"}, {"Y"}, unit), Op("Sigmoid", {"x"}, {"y"}), 1);
  EXPECT_EQ(FetchInt8(ws_, "Y").scale, 1.f / 256);
  ExpectSame(Op("Int8Softmax", {"X"}, {"Y"}, unit), Op("Softmax", {"x"}, {"y"}), 1);
  ExpectThrows(&ws_, Op("Int8Softmax", {"X"}, {"Y"}, WithScale({}, 0.5f, 0)), "1 / 256");
  ExpectThrows(&ws_, Op("Int8Relu", {"X"}, {"Y"}, WithScale({}, 0.5f, kInt8Zero)),
               "keeps the quantization");
  ExpectThrows(&ws_, Op("Int8LeakyRelu", {"X"}, {"Y"}, Kept({MakeArgument("alpha", 1.5f)})),
               "argument alpha must be more than 0 and less than 1, found 1.5");
  RunOp(&ws_, Op("Int8Sigmoid", {"X"}, {"X"}, unit));  // in place
  EXPECT_EQ(FetchInt8(ws_, "X").scale, 1.f / 256);
}

}  // namespace
}  // namespace caffe2::testing
