// Moments and BatchMoments.
#include <cmath>

#include "tests/operators/image/image_reference.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

const GradientOptions kBothOutputs = [] {
  GradientOptions options;
  options.outputs_with_gradient = {0, 1};
  return options;
}();

TEST(MomentsTest, MatchesReferenceOverAnyAxes) {
  const std::vector<int64_t> dims = {2, 3, 4};
  for (int mask = 0; mask < 8; ++mask) {  // 0: no axes argument, which means all
    for (const bool keepdims : {false, true}) {
      Workspace ws;
      FeedRandom(&ws, "X", dims, 1, 90, 92);
      const auto x = FetchValues<float>(ws, "X");
      std::vector<int> axes;
      std::vector<int64_t> kept, strides(3, 0);
      int64_t results = 1;
      for (int d = 2; d >= 0; --d) {
        const bool reduced = mask == 0 || (mask >> d & 1) != 0;
        if (reduced && mask != 0) axes.push_back(d);
        if (!reduced) strides[d] = results;
        if (!reduced) results *= dims[d];
        if (!reduced || keepdims) kept.insert(kept.begin(), reduced ? 1 : dims[d]);
      }
      const auto result = [&](int64_t i) {
        return i / 12 * strides[0] + i / 4 % 3 * strides[1] + i % 4 * strides[2];
      };
      std::vector<double> mean(results), variance(results);
      for (int64_t i = 0; i < 24; ++i) mean[result(i)] += x[i] * results / 24.;
      for (int64_t i = 0; i < 24; ++i) {
        variance[result(i)] += std::pow(x[i] - mean[result(i)], 2) * results / 24;
      }
      std::vector<Argument> args{MakeArgument("keepdims", keepdims)};
      if (mask != 0) args.push_back(MakeArgument("axes", axes));
      const OperatorDef op = Op("Moments", {"X"}, {"mean", "variance"}, args);
      RunOp(&ws, op);
      ExpectTensor(ws, "mean", kept, {mean.begin(), mean.end()});
      ExpectTensor(ws, "variance", kept, {variance.begin(), variance.end()}, 1e-4f, 1e-5f);
      FeedRandom(&ws, "X", dims, 1);
      CheckGradient(&ws, op, {0}, kBothOutputs);
    }
  }
}

TEST(MomentsTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3}, 1);
  ExpectThrows(&ws, Op("Moments", {"X"}, {"m", "v"}, {MakeArgument("axes", std::vector<int>{2})}),
               "axis 2");
  ExpectThrows(&ws, Op("MomentsGradient", {"X", "X", "X", "X"}, {"dX"}), "input 0");
}

TEST(BatchMomentsTest, MatchesReferenceInBothOrders) {
  const std::vector<int64_t> dims = {2, 3, 2, 2};
  for (const bool nhwc : {false, true}) {
    Workspace ws;
    const auto x = RandomValues(24, 1);
    FeedImage(&ws, "X", dims, x, nhwc);
    std::vector<float> mu(3), squares(3);
    for (int64_t i = 0; i < 24; ++i) {
      mu[i / 4 % 3] += x[i] / 8;
      squares[i / 4 % 3] += x[i] * x[i] / 8;
    }
    const OperatorDef op = Op("BatchMoments", {"X"}, {"mu", "var"},
                              {MakeArgument<std::string>("order", nhwc ? "NHWC" : "NCHW")});
    RunOp(&ws, op);
    ExpectTensor(ws, "mu", {3}, mu);
    ExpectTensor(ws, "var", {3}, squares);
    CheckGradient(&ws, op, {0}, kBothOutputs);
  }
}

TEST(BatchMomentsTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {2}, 1);
  ExpectThrows(&ws, Op("BatchMoments", {"X"}, {"mu", "var"}), "image");
}

}  // namespace
}  // namespace caffe2::testing
