#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(SumElementsOpTest, SumsAndMeans) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 2}, {1, -2, 3, 4});
  const auto average = MakeArgument("average", 1);
  RunOp(&ws, Op("SumElements", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {}, {6});
  RunOp(&ws, Op("SumElements", {"X"}, {"Y"}, {average}));
  ExpectTensor(ws, "Y", {}, {1.5f});
  RunOp(&ws, Op("SumSqrElements", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {}, {30});
  RunOp(&ws, Op("SumSqrElements", {"X"}, {"Y"}, {average}));
  ExpectTensor(ws, "Y", {}, {7.5f});
  CheckGradient(&ws, Op("SumElements", {"X"}, {"Y"}), {0});
  CheckGradient(&ws, Op("SumElements", {"X"}, {"Y"}, {average}), {0});
  Feed<int32_t>(&ws, "ints", {3}, {1, 2, 3});
  RunOp(&ws, Op("SumElementsInt", {"ints"}, {"Y"}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), std::vector<int32_t>{6});
  Feed<float>(&ws, "none", {0}, {});
  RunOp(&ws, Op("SumElements", {"none"}, {"Y"}, {average}));
  ExpectTensor(ws, "Y", {}, {0});
}

}  // namespace
}  // namespace caffe2::testing
