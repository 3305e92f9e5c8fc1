#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(ScaleOpTest, ScalesInPlaceToo) {
  Workspace ws;
  Feed<float>(&ws, "X", {3}, {1, -2, 4});
  RunOp(&ws, Op("Scale", {"X"}, {"Y"}, {MakeArgument("scale", 0.5f)}));
  ExpectTensor(ws, "Y", {3}, {0.5f, -1, 2});
  RunOp(&ws, Op("Scale", {"Y"}, {"Y"}, {MakeArgument("scale", 2)}));
  ExpectTensor(ws, "Y", {3}, {1, -2, 4});
  CheckGradient(&ws, Op("Scale", {"X"}, {"Y"}, {MakeArgument("scale", -1.5f)}), {0});
  Feed<bfloat16>(&ws, "X", {1}, {ToBFloat16(3.f)});
  RunOp(&ws, Op("Scale", {"X"}, {"Z"}, {MakeArgument("scale", 0.5f)}));
  EXPECT_EQ(ToFloat(FetchValues<bfloat16>(ws, "Z")[0]), 1.5f);
  Feed<int32_t>(&ws, "X", {1}, {1});
  ExpectThrows(&ws, Op("Scale", {"X"}, {"Z"}), "not supported");
}

}  // namespace
}  // namespace caffe2::testing
