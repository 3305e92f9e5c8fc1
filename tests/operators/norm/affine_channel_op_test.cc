#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(AffineChannelTest, ScalesChannels) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3, 4, 5}, 1);
  FeedRandom(&ws, "scale", {3}, 2);
  FeedRandom(&ws, "bias", {3}, 3);
  const auto x = FetchValues<float>(ws, "X"), scale = FetchValues<float>(ws, "scale"),
             bias = FetchValues<float>(ws, "bias");
  Floats expected;
  for (size_t i = 0; i < x.size(); ++i) {
    expected.push_back(x[i] * scale[i / 20 % 3] + bias[i / 20 % 3]);
  }
  const auto learned = MakeArgument("is_learnable", 1);
  RunOp(&ws, Op("AffineChannel", {"X", "scale", "bias"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 3, 4, 5}, expected);
  CheckGradient(&ws, Op("AffineChannel", {"X", "scale", "bias"}, {"Y"}), {0});
  CheckGradient(&ws, Op("AffineChannel", {"X", "scale", "bias"}, {"Y"}, {learned}), {0, 1, 2});
  const auto nhwc = MakeArgument<std::string>("order", "NHWC");
  RunOp(&ws, Op("NCHW2NHWC", {"X"}, {"Xt"}));
  CheckGradient(&ws, Op("AffineChannel", {"Xt", "scale", "bias"}, {"Y"}, {learned, nhwc}),
                {0, 1, 2});
  ExpectThrows(&ws, Op("AffineChannel", {"Xt", "scale", "bias"}, {"Y"}),
               "scale must have one element for each channel of the image: scale has shape [3], "
               "the image [2, 4, 5, 3]");
}

}  // namespace
}  // namespace caffe2::testing
