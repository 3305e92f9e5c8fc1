#include <cmath>

#include "tests/operators/norm/norm_test_util.h"

namespace caffe2::testing {
namespace {

// dX = scale / std * (dY - mean(dY) - x' * mean(dY x')), x' = (X - mean) / std.
TEST(SpatialBNGradientTest, IsTheClosedFormInBothOrders) {
  const int64_t images = 3, channels = 2, size = 6, count = images * size;
  for (const bool nhwc : {false, true}) {
    Workspace ws;
    const Shape dims = nhwc ? Shape{images, 2, 3, channels} : Shape{images, channels, 2, 3};
    FeedRandom(&ws, "X", dims, 1, -1, 2);
    FeedRandom(&ws, "dY", dims, 2);
    FeedRandom(&ws, "s", {channels}, 3, 0.5f, 1.5f);
    const Floats x = FetchValues<float>(ws, "X"), dy = FetchValues<float>(ws, "dY"),
                 s = FetchValues<float>(ws, "s");
    Floats means, inverses, d_scales, d_biases, dx(x.size());
    for (int64_t c = 0; c < channels; ++c) {
      const auto at = [&](int64_t i) {
        return ElementAt(nhwc, channels, size, i / size, c, i % size);
      };
      const Moments m = MomentsOf(count, [&](int64_t i) -> double { return x[at(i)]; });
      const double inverse = 1 / std::sqrt(m.variance + 1e-5);
      const auto normalized = [&](int64_t i) { return (x[at(i)] - m.mean) * inverse; };
      double d_scale = 0, d_bias = 0;
      for (int64_t i = 0; i < count; ++i) {
        d_scale += dy[at(i)] * normalized(i);
        d_bias += dy[at(i)];
      }
      for (int64_t i = 0; i < count; ++i) {
        dx[at(i)] = static_cast<float>(
            s[c] * inverse * (dy[at(i)] - d_bias / count - normalized(i) * d_scale / count));
      }
      means.push_back(static_cast<float>(m.mean));
      inverses.push_back(static_cast<float>(inverse));
      d_scales.push_back(static_cast<float>(d_scale));
      d_biases.push_back(static_cast<float>(d_bias));
    }
    Feed(&ws, "mean", {channels}, means);
    Feed(&ws, "inv_std", {channels}, inverses);
    const OperatorDef op = Op("SpatialBNGradient", {"X", "s", "dY", "mean", "inv_std"},
                              {"dX", "dscale", "dbias"}, {OrderArgument(nhwc)});
    RunOp(&ws, op);
    ExpectTensor(ws, "dX", dims, dx, 1e-4f, 1e-5f);
    ExpectTensor(ws, "dscale", {channels}, d_scales, 1e-4f, 1e-5f);
    ExpectTensor(ws, "dbias", {channels}, d_biases, 1e-4f, 1e-5f);
    FeedRandom(&ws, "dY", {1, channels, 2, 3}, 2);
    ExpectThrows(&ws, op, "dY must have the shape of X: dY has shape [1, 2, 2, 3]");
  }
}

}  // namespace
}  // namespace caffe2::testing
