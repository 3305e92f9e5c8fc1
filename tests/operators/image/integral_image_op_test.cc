#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(IntegralImageTest, SumsRectangles) {
  Workspace ws;
  const int64_t planes = 6, height = 3, width = 4;
  FeedRandom(&ws, "X", {2, 3, height, width}, 1);
  const auto x = FetchValues<float>(ws, "X");
  std::vector<float> y;
  for (int64_t p = 0; p < planes; ++p) {
    for (int64_t i = 0; i <= height; ++i) {
      for (int64_t j = 0; j <= width; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < i * j; ++k) sum += x[(p * height + k / j) * width + k % j];
        y.push_back(static_cast<float>(sum));
      }
    }
  }
  const OperatorDef op = Op("IntegralImage", {"X"}, {"Y"});
  RunOp(&ws, op);
  ExpectTensor(ws, "Y", {2, 3, height + 1, width + 1}, y);
  CheckGradient(&ws, op, {0});
}

// What Caffe2's nets get without the argument exact.
TEST(IntegralImageTest, GradientOfCaffe2SumsTowardsTheFirstCorner) {
  Workspace ws;
  const int64_t planes = 2, height = 3, width = 4;
  FeedRandom(&ws, "X", {1, planes, height, width}, 1);
  FeedRandom(&ws, "dY", {1, planes, height + 1, width + 1}, 2);
  const auto dy = FetchValues<float>(ws, "dY");
  std::vector<float> dx;
  for (int64_t p = 0; p < planes; ++p) {
    for (int64_t h = 0; h < height; ++h) {
      for (int64_t w = 0; w < width; ++w) {
        double sum = 0;
        for (int64_t i = 0; i <= h; ++i) {
          for (int64_t j = 0; j <= w; ++j) sum += dy[(p * (height + 1) + i) * (width + 1) + j];
        }
        dx.push_back(static_cast<float>(sum));
      }
    }
  }
  RunOp(&ws, Op("IntegralImageGradient", {"X", "dY"}, {"dX"}));
  ExpectTensor(ws, "dX", {1, planes, height, width}, dx);
}

TEST(IntegralImageTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {1, 1, 2, 2}, 1);
  FeedRandom(&ws, "V", {2, 2}, 1);
  ExpectThrows(&ws, Op("IntegralImage", {"V"}, {"Y"}), "four axes");
  ExpectThrows(&ws, Op("IntegralImageGradient", {"X", "X"}, {"dX"}),
               "dY must have the shape [1, 1, 3, 3], found [1, 1, 2, 2]");
}

}  // namespace
}  // namespace caffe2::testing
