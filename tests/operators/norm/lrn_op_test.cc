#include <cmath>

#include "tests/operators/norm/norm_test_util.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

const std::vector<Argument> kLrn{MakeArgument<int>("size", 3), MakeArgument<float>("alpha", 0.5f),
                                 MakeArgument<float>("beta", 0.75f),
                                 MakeArgument<float>("bias", 2.f)};

OperatorDef Lrn(bool nhwc, const std::vector<std::string>& outputs) {
  std::vector<Argument> args = kLrn;
  args.push_back(OrderArgument(nhwc));
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
            const double value = x[ElementAt(nhwc, channels, size, n, k, i)];
            sum += value * value;
          }
          const int64_t at = ElementAt(nhwc, channels, size, n, c, i);
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

}  // namespace
}  // namespace caffe2::testing
