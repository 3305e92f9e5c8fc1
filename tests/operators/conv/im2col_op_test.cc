#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(Im2ColTest, MakesColumnsOfWindows) {
  Workspace ws;
  Feed<float>(&ws, "X", {1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});
  RunOp(&ws, Op("Im2Col", {"X"}, {"Y"}, {MakeArgument("kernel", 2)}));
  ExpectTensor(ws, "Y", {1, 4, 1, 2}, {1, 2, 2, 3, 4, 5, 5, 6});
  RunOp(&ws, Op("Col2Im", {"Y", "X"}, {"Z"}, {MakeArgument("kernel", 2)}));
  ExpectTensor(ws, "Z", {1, 1, 2, 3}, {1, 4, 3, 4, 10, 6});
  for (const char* order : {"NCHW", "NHWC"}) {
    const std::vector<Argument> args{MakeArgument("kernel", 3), MakeArgument("stride", 2),
                                     MakeArgument("pad", 1), MakeArgument("dilation", 2),
                                     MakeArgument<std::string>("order", order)};
    FeedRandom(&ws, "X", {2, 5, 6, 3}, 1);
    CheckGradient(&ws, Op("Im2Col", {"X"}, {"Y"}, args), {0});
    CheckGradient(&ws, Op("Col2Im", {"Y", "X"}, {"Z"}, args), {0});
  }
  // The product of kernel and columns is the convolution.
  FeedRandom(&ws, "X", {1, 2, 4, 4}, 2);
  FeedRandom(&ws, "W", {3, 2, 3, 3}, 3);
  FeedRandom(&ws, "W2", {3, 18}, 3);
  RunOp(&ws, Op("Conv", {"X", "W"}, {"C"}, {MakeArgument("kernel", 3)}));
  RunOp(&ws, Op("Im2Col", {"X"}, {"Y"}, {MakeArgument("kernel", 3)}));
  RunOp(&ws, Op("Reshape", {"Y"}, {"Y", "old"}, {MakeArgument("shape", Longs{18, 4})}));
  RunOp(&ws, Op("MatMul", {"W2", "Y"}, {"M"}));
  const std::vector<float> expected = FetchValues<float>(ws, "C");
  ExpectNear(FetchValues<float>(ws, "M"), expected, 1e-5);
  ExpectThrows(&ws, Op("Col2Im", {"W", "X"}, {"Z"}, {MakeArgument("kernel", 3)}),
               "the columns must have 72 elements for an image of shape [1, 2, 4, 4], found shape "
               "[3, 2, 3, 3]");
}

}  // namespace
}  // namespace caffe2::testing
