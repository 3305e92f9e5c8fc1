#include <array>
#include <cmath>

#include "tests/operators/norm/norm_test_util.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

class InstanceNormTest : public ::testing::TestWithParam<std::array<int64_t, 2>> {};

TEST_P(InstanceNormTest, MatchesReferenceInBothOrders) {
  const int64_t images = 2, channels = GetParam()[0], width = GetParam()[1], size = 2 * width;
  for (const bool nhwc : {false, true}) {
    Workspace ws;
    const std::vector<int64_t> dims = nhwc ? std::vector<int64_t>{images, 2, width, channels}
                                           : std::vector<int64_t>{images, channels, 2, width};
    FeedRandom(&ws, "X", dims, 1, -2, 5);
    FeedRandom(&ws, "scale", {channels}, 2);
    FeedRandom(&ws, "bias", {channels}, 3);
    const std::vector<float> x = FetchValues<float>(ws, "X"),
                             scale = FetchValues<float>(ws, "scale"),
                             bias = FetchValues<float>(ws, "bias");
    std::vector<float> y(x.size()), mean, inverse;
    for (int64_t n = 0; n < images; ++n) {
      for (int64_t c = 0; c < channels; ++c) {
        const Moments m = MomentsOf(
            size, [&](int64_t i) -> double { return x[ElementAt(nhwc, channels, size, n, c, i)]; });
        mean.push_back(static_cast<float>(m.mean));
        inverse.push_back(static_cast<float>(1 / std::sqrt(m.variance + 1e-4)));
        for (int64_t i = 0; i < size; ++i) {
          const int64_t at = ElementAt(nhwc, channels, size, n, c, i);
          y[at] = (x[at] - mean.back()) * inverse.back() * scale[c] + bias[c];
        }
      }
    }
    const std::vector<Argument> args{MakeArgument<float>("epsilon", 1e-4f), OrderArgument(nhwc)};
    RunOp(&ws, Op("InstanceNorm", {"X", "scale", "bias"}, {"Y", "mean", "inverse"}, args));
    ExpectTensor(ws, "Y", dims, y, 1e-4f, 1e-5f);
    ExpectTensor(ws, "mean", {images, channels}, mean);
    ExpectTensor(ws, "inverse", {images, channels}, inverse);
    GradientOptions small_step;
    small_step.step = 5e-3f;
    for (const auto& outputs :
         std::vector<std::vector<std::string>>{{"Y"}, {"Y", "mean"}, {"Y", "mean", "inverse"}}) {
      CheckGradient(&ws, Op("InstanceNorm", {"X", "scale", "bias"}, outputs, args), {0, 1, 2},
                    small_step);
    }
    RunOp(&ws, Op("InstanceNorm", {"X", "scale", "bias"}, {"X"}, args));
    ExpectTensor(ws, "X", dims, y, 1e-4f, 1e-5f);
  }
}

// Few elements; more channels than are handled at once; runs longer than the lanes.
INSTANTIATE_TEST_SUITE_P(Sizes, InstanceNormTest,
                         ::testing::ValuesIn({std::array<int64_t, 2>{3, 2}, {70, 2}, {3, 11}}));

TEST(InstanceNorm, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3, 4}, 1);
  FeedRandom(&ws, "four", {4}, 2);
  ExpectThrows(&ws, Op("InstanceNorm", {"X", "four", "four"}, {"Y"}),
               "scale and bias must have one element for each of the 3 channels of X in order "
               "NCHW: scale has shape [4], bias [4], X [2, 3, 4]");
  FeedRandom(&ws, "M", {2, 3}, 1);
  ExpectThrows(&ws, Op("InstanceNorm", {"M", "four", "four"}, {"Y"}), "three axes");
}

}  // namespace
}  // namespace caffe2::testing
