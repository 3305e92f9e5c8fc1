#include <cmath>

#include "operators/norm/bn_params.h"
#include "tests/operators/norm/norm_test_util.h"

namespace caffe2::testing {
namespace {

// X [2, 2, 2, 3] with its sums, and the other inputs.
class SpatialBNFinalizeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    FeedRandom(&ws_, "X", dims_, 1, -1, 2);
    for (const char* name : {"s", "b", "rm", "rv"}) FeedRandom(&ws_, name, {2}, name[0], 0.5f, 2);
    x_ = FetchValues<float>(ws_, "X");
    Floats sums, squares;
    for (int64_t c = 0; c < 2; ++c) {
      double sum = 0, square = 0;
      for (int64_t i = 0; i < count_; ++i) {
        sum += ValueOf(x_, c, i);
        square += ValueOf(x_, c, i) * ValueOf(x_, c, i);
      }
      sums.push_back(static_cast<float>(sum));
      squares.push_back(static_cast<float>(square));
    }
    Feed(&ws_, "sum", {2}, sums);
    Feed(&ws_, "sumsq", {2}, squares);
  }
  // Value i of channel c, over all images.
  double ValueOf(const Floats& values, int64_t c, int64_t i) const {
    return values[ElementAt(false, 2, 6, i / 6, c, i % 6)];
  }
  Moments MomentsOfChannel(int64_t c) const {
    return MomentsOf(count_, [&](int64_t i) { return ValueOf(x_, c, i); });
  }

  const Shape dims_{2, 2, 2, 3};
  const int64_t count_ = 12;
  const OperatorDef op_ = Op("SpatialBNFinalize", {"X", "sum", "sumsq", "s", "b", "rm", "rv"},
                             {"X", "norm", "rm", "rv"},
                             {MakeArgument("epsilon", 1e-2f), MakeArgument("momentum", 0.75f)});
  Workspace ws_;
  Floats x_;
};

TEST_F(SpatialBNFinalizeTest, GivesTheFactorsAndTheRunningStatistics) {
  const auto s = FetchValues<float>(ws_, "s"), b = FetchValues<float>(ws_, "b"),
             rm = FetchValues<float>(ws_, "rm"), rv = FetchValues<float>(ws_, "rv");
  Floats norm(kBnParamsRows * 2), mean, variance;
  for (int64_t c = 0; c < 2; ++c) {
    const Moments m = MomentsOfChannel(c);
    const double inverse = 1 / std::sqrt(m.variance + 1e-2), factor = s[c] * inverse;
    const double rows[] = {m.mean, inverse, s[c], b[c], factor, b[c] - m.mean * factor};
    for (int row = 0; row < kBnParamsRows; ++row) norm[row * 2 + c] = static_cast<float>(rows[row]);
    mean.push_back(static_cast<float>(0.75 * rm[c] + 0.25 * m.mean));
    variance.push_back(static_cast<float>(0.75 * rv[c] + 0.25 * m.variance * 12 / 11));
  }
  RunOp(&ws_, op_);
  ExpectTensor(ws_, "norm", {kBnParamsRows, 2}, norm, 1e-5f, 1e-5f);
  ExpectTensor(ws_, "rm", {2}, mean);
  ExpectTensor(ws_, "rv", {2}, variance);
  ExpectTensor(ws_, "X", dims_, x_, 0, 0);
  FeedRandom(&ws_, "s", {3}, 1);
  EXPECT_ANY_THROW(ws_.RunOperatorOnce(op_));
}

TEST_F(SpatialBNFinalizeTest, GradientIsTheClosedForm) {
  RunOp(&ws_, op_);
  FeedRandom(&ws_, "g", dims_, 7);
  const Floats g = FetchValues<float>(ws_, "g"), s = FetchValues<float>(ws_, "s");
  Floats dx(x_.size()), d_norm(4);
  for (int64_t c = 0; c < 2; ++c) {
    const Moments m = MomentsOfChannel(c);
    const double inverse = 1 / std::sqrt(m.variance + 1e-2);
    const auto normalized = [&](int64_t i) { return (ValueOf(x_, c, i) - m.mean) * inverse; };
    double d_scale = 0, d_bias = 0;
    for (int64_t i = 0; i < count_; ++i) {
      d_scale += ValueOf(g, c, i) * normalized(i);
      d_bias += ValueOf(g, c, i);
    }
    d_norm[kDScaleRow * 2 + c] = static_cast<float>(d_scale);
    d_norm[kDBiasRow * 2 + c] = static_cast<float>(d_bias);
    for (int64_t i = 0; i < count_; ++i) {
      dx[ElementAt(false, 2, 6, i / 6, c, i % 6)] = static_cast<float>(
          s[c] * inverse * (ValueOf(g, c, i) - d_bias / 12 - normalized(i) * d_scale / 12));
    }
  }
  Feed(&ws_, "dnorm", {kBnParamsGradientRows, 2}, d_norm);
  RunOp(&ws_, Op("SpatialBNFinalizeGradient", {"X", "norm", "g", "dnorm"}, {"dX", "ds", "db"}));
  ExpectTensor(ws_, "dX", dims_, dx, 1e-4f, 1e-5f);
  ExpectTensor(ws_, "ds", {2}, {d_norm[0], d_norm[1]}, 0, 0);
  ExpectTensor(ws_, "db", {2}, {d_norm[2], d_norm[3]}, 0, 0);
}

}  // namespace
}  // namespace caffe2::testing
