#include <cmath>
#include <functional>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

// Visits [n, c, size] elements of a tensor in either order: element i of channel c of image n.
int64_t At(bool nhwc, int64_t channels, int64_t size, int64_t n, int64_t c, int64_t i) {
  return nhwc ? (n * size + i) * channels + c : (n * channels + c) * size + i;
}

Argument Order(bool nhwc) { return MakeArgument<std::string>("order", nhwc ? "NHWC" : "NCHW"); }

const std::vector<Argument> kLrn{MakeArgument<int>("size", 3), MakeArgument<float>("alpha", 0.5f),
                                 MakeArgument<float>("beta", 0.75f),
                                 MakeArgument<float>("bias", 2.f)};

OperatorDef Lrn(bool nhwc, const std::vector<std::string>& outputs) {
  std::vector<Argument> args = kLrn;
  args.push_back(Order(nhwc));
  return Op("LRN", {"X"}, outputs, args);
}

TEST(LrnTest, MatchesReferenceInBothOrders) {
  const int64_t images = 2, channels = 5, size = 6;
  for (const bool nhwc : {false, true}) {
    Workspace ws;
    const std::vector<int64_t> dims = nhwc ? std::vector<int64_t>{images, 2, 3, channels}
                                           : std::vector<int64_t>{images, channels, 2, 3};
    FeedRandom(&ws, "X", dims, 1, -2, 2);
    const std::vector<float> x = FetchValues<float>(ws, "X");
    std::vector<float> y(x.size()), scale(x.size());
    for (int64_t n = 0; n < images; ++n) {
      for (int64_t c = 0; c < channels; ++c) {
        for (int64_t i = 0; i < size; ++i) {
          double sum = 0;
          for (int64_t k = std::max<int64_t>(0, c - 1); k <= std::min(channels - 1, c + 1); ++k) {
            const double value = x[At(nhwc, channels, size, n, k, i)];
            sum += value * value;
          }
          const int64_t at = At(nhwc, channels, size, n, c, i);
          scale[at] = static_cast<float>(2 + 0.5 / 3 * sum);
          y[at] = static_cast<float>(x[at] * std::pow(scale[at], -0.75));
        }
      }
    }
    RunOp(&ws, Lrn(nhwc, {"Y", "scale"}));
    ExpectTensor(ws, "Y", dims, y);
    ExpectTensor(ws, "scale", dims, scale);
    RunOp(&ws, Lrn(nhwc, {"Z"}));
    ExpectTensor(ws, "Z", dims, y);
    CheckGradient(&ws, Lrn(nhwc, {"Y"}), {0});
    CheckGradient(&ws, Lrn(nhwc, {"Y", "scale"}), {0});
  }
}

TEST(LrnTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3}, 1);
  ExpectThrows(&ws, Lrn(false, {"Y"}), "four axes");
  std::vector<Argument> even = kLrn;
  even[0] = MakeArgument<int>("size", 4);
  ExpectThrows(&ws, Op("LRN", {"X"}, {"Y"}, even), "size");
  ExpectThrows(&ws, Op("LRN", {"X"}, {"Y"}), "size");
}

struct Moments {
  double mean = 0, variance = 0;
};

Moments MomentsOf(int64_t n, const std::function<double(int64_t)>& value) {
  Moments m;
  for (int64_t i = 0; i < n; ++i) m.mean += value(i) / static_cast<double>(n);
  for (int64_t i = 0; i < n; ++i) {
    m.variance += (value(i) - m.mean) * (value(i) - m.mean) / static_cast<double>(n);
  }
  return m;
}

TEST(InstanceNormTest, MatchesReferenceInBothOrders) {
  const int64_t images = 2, channels = 3, size = 4;
  for (const bool nhwc : {false, true}) {
    Workspace ws;
    const std::vector<int64_t> dims = nhwc ? std::vector<int64_t>{images, 2, 2, channels}
                                           : std::vector<int64_t>{images, channels, 2, 2};
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
            size, [&](int64_t i) -> double { return x[At(nhwc, channels, size, n, c, i)]; });
        mean.push_back(static_cast<float>(m.mean));
        inverse.push_back(static_cast<float>(1 / std::sqrt(m.variance + 1e-4)));
        for (int64_t i = 0; i < size; ++i) {
          const int64_t at = At(nhwc, channels, size, n, c, i);
          y[at] = (x[at] - mean.back()) * inverse.back() * scale[c] + bias[c];
        }
      }
    }
    const std::vector<Argument> args{MakeArgument<float>("epsilon", 1e-4f), Order(nhwc)};
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

TEST(InstanceNormTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3, 4}, 1);
  FeedRandom(&ws, "four", {4}, 2);
  ExpectThrows(&ws, Op("InstanceNorm", {"X", "four", "four"}, {"Y"}), "scale [4]");
  FeedRandom(&ws, "M", {2, 3}, 1);
  ExpectThrows(&ws, Op("InstanceNorm", {"M", "four", "four"}, {"Y"}), "three axes");
}

TEST(LayerNormTest, MatchesReferenceAtEveryAxis) {
  for (const int axis : {1, 2, -1}) {
    Workspace ws;
    FeedRandom(&ws, "X", {2, 3, 4}, 1, -2, 5);
    const std::vector<float> x = FetchValues<float>(ws, "X");
    const int64_t d = axis == 1 ? 12 : 4, rows = 24 / d;
    std::vector<float> y, mean, stdev;
    for (int64_t r = 0; r < rows; ++r) {
      const Moments m = MomentsOf(d, [&](int64_t i) -> double { return x[r * d + i]; });
      mean.push_back(static_cast<float>(m.mean));
      stdev.push_back(static_cast<float>(std::sqrt(m.variance + 0.01)));
      for (int64_t i = 0; i < d; ++i) y.push_back((x[r * d + i] - mean[r]) / stdev[r]);
    }
    const OperatorDef op =
        Op("LayerNorm", {"X"}, {"Y", "mean", "stdev"},
           {MakeArgument<int>("axis", axis), MakeArgument<float>("epsilon", 0.01f)});
    RunOp(&ws, op);
    const std::vector<int64_t> row_dims =
        axis == 1 ? std::vector<int64_t>{2, 1} : std::vector<int64_t>{2, 3, 1};
    ExpectTensor(ws, "Y", {2, 3, 4}, y, 1e-4f, 1e-5f);
    ExpectTensor(ws, "mean", row_dims, mean);
    ExpectTensor(ws, "stdev", row_dims, stdev);
    CheckGradient(&ws, op, {0});
  }
}

TEST(LayerNormTest, KeepsTheVarianceOfFarValuesAndTakesNoRows) {
  Workspace ws;
  Feed<float>(&ws, "X", {1, 2}, {1e6f, 1e6f + 1});
  RunOp(&ws, Op("LayerNorm", {"X"}, {"Y", "mean", "stdev"}, {MakeArgument<float>("epsilon", 0.f)}));
  ExpectTensor(ws, "stdev", {1, 1}, {0.5f});
  Feed<float>(&ws, "X", {0, 2}, {});
  RunOp(&ws, Op("LayerNorm", {"X"}, {"Y", "mean", "stdev"}));
  ExpectTensor(ws, "mean", {0, 1}, {});
  ExpectThrows(&ws, Op("LayerNorm", {"X"}, {"Y", "mean", "stdev"}, {MakeArgument<int>("axis", 2)}),
               "axis 2");
}

}  // namespace
}  // namespace caffe2::testing
