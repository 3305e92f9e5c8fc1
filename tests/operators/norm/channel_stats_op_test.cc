#include "tests/operators/image/image_reference.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

constexpr int64_t kStatsImages = 2, kStatsChannels = 3, kStatsSize = 20;

// Sums `value(i)` over the elements i of each channel of an NCHW image.
template <typename Value>
Floats ChannelSums(const Value& value) {
  Floats sums;
  for (int64_t c = 0; c < kStatsChannels; ++c) {
    double sum = 0;
    for (int64_t n = 0; n < kStatsImages; ++n) {
      for (int64_t i = 0; i < kStatsSize; ++i) {
        sum += value((n * kStatsChannels + c) * kStatsSize + i, c);
      }
    }
    sums.push_back(static_cast<float>(sum));
  }
  return sums;
}

TEST(ChannelStatsTest, SumsValuesAndSquaresInBothOrders) {
  const Shape dims{kStatsImages, kStatsChannels, 4, 5};
  const Floats x = RandomValues(CheckedNumel(dims), 1, -1, 2);
  for (const bool nhwc : {false, true}) {
    Workspace ws;
    FeedImage(&ws, "X", dims, x, nhwc);
    RunOp(&ws, Op("ChannelStats", {"X"}, {"sum", "sumsq"},
                  {MakeArgument<std::string>("order", OrderName(nhwc))}));
    ExpectTensor(ws, "sum", {kStatsChannels},
                 ChannelSums([&](int64_t i, int64_t) -> double { return x[i]; }));
    ExpectTensor(ws, "sumsq", {kStatsChannels},
                 ChannelSums([&](int64_t i, int64_t) { return double{x[i]} * x[i]; }));
  }
}

TEST(ChannelBackpropStatsTest, SumsGradientsInBothOrders) {
  const Shape dims{kStatsImages, kStatsChannels, 4, 5};
  const Floats x = RandomValues(CheckedNumel(dims), 1), dy = RandomValues(CheckedNumel(dims), 2);
  const Floats mean = RandomValues(kStatsChannels, 3), inverse = RandomValues(3, 4, 0.5f, 2);
  for (const bool nhwc : {false, true}) {
    Workspace ws;
    FeedImage(&ws, "X", dims, x, nhwc);
    FeedImage(&ws, "dY", dims, dy, nhwc);
    Feed(&ws, "mean", {kStatsChannels}, mean);
    Feed(&ws, "inv_std", {kStatsChannels}, inverse);
    const OperatorDef op =
        Op("ChannelBackpropStats", {"X", "mean", "inv_std", "dY"}, {"dscale", "dbias"},
           {MakeArgument<std::string>("order", OrderName(nhwc))});
    RunOp(&ws, op);
    const auto scaled = [&](int64_t i, int64_t c) {
      return dy[i] * (double{x[i]} - mean[c]) * inverse[c];
    };
    ExpectTensor(ws, "dscale", {kStatsChannels}, ChannelSums(scaled), 1e-5f, 1e-5f);
    ExpectTensor(ws, "dbias", {kStatsChannels},
                 ChannelSums([&](int64_t i, int64_t) -> double { return dy[i]; }), 1e-5f, 1e-5f);
    FeedRandom(&ws, "dY", {1, kStatsChannels, 4, 5}, 5);
    ExpectThrows(&ws, op, "dY must have the shape of X: dY has shape [1, 3, 4, 5]");
  }
}

}  // namespace
}  // namespace caffe2::testing
