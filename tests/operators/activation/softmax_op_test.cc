#include <limits>

#include "tests/operators/activation/softmax_reference.h"
#include "tests/operators/image/image_reference.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(SoftmaxTest, MatchesReferenceAtEveryAxis) {
  Workspace ws;
  FeedRandom(&ws, "X", {3, 4, 5}, 1, -10, 10);
  const std::vector<float> x = FetchValues<float>(ws, "X");
  const struct {
    int axis;
    int64_t rows, d;
  } cases[] = {{0, 1, 60}, {1, 3, 20}, {2, 12, 5}, {-1, 12, 5}};
  for (const auto& c : cases) {
    RunOp(&ws, Op("Softmax", {"X"}, {"Y"}, {MakeArgument<int>("axis", c.axis)}));
    ExpectTensor(ws, "Y", {3, 4, 5}, SoftmaxReference(c.rows, c.d, x), 1e-5f, 1e-9f);
  }
}

TEST(SoftmaxTest, SurvivesLargeLogitsAndPropagatesNan) {
  Workspace ws;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Feed<float>(&ws, "X", {2, 2}, {1e30f, -1e30f, nan, 0});
  RunOp(&ws, Op("Softmax", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 2}, {1, 0, nan, nan});
}

TEST(SoftmaxTest, WorksInPlaceAndOnManyRows) {
  Workspace ws;
  FeedRandom(&ws, "X", {3000, 17}, 5, -3, 3);
  const std::vector<float> expected = SoftmaxReference(3000, 17, FetchValues<float>(ws, "X"));
  RunOp(&ws, Op("Softmax", {"X"}, {"X"}));
  ExpectTensor(ws, "X", {3000, 17}, expected, 1e-5f, 1e-9f);
}

// Loops run across rows of up to 64 elements, 16 rows at a time.
TEST(SoftmaxTest, TakesManyShortRows) {
  for (const int64_t n : {1, 2, 4, 7, 16, 31, 63, 64, 65}) {
    for (const int64_t rows : {1, 15, 16, 17, 3000}) {
      Workspace ws;
      FeedRandom(&ws, "X", {rows, n}, 5, -9, 9);
      std::vector<float> x = FetchValues<float>(ws, "X");
      x[rows / 2 * n] = -std::numeric_limits<float>::infinity();
      if (n > 1) x[(rows / 2 + 1) * n - 1] = 200;  // other exponentials are 0
      const std::vector<float> y = SoftmaxReference(rows, n, x);
      Feed(&ws, "X", {rows, n}, x);
      RunOp(&ws, Op("Softmax", {"X"}, {"Y"}));
      ExpectTensor(ws, "Y", {rows, n}, y, 2e-6f, 1e-30f);
      Feed(&ws, "X", {rows, n}, ToBFloat16(x));
      RunOp(&ws, Op("Softmax", {"X"}, {"X"}));
      WidenBlob(&ws, "X");
      ExpectTensor(ws, "X", {rows, n}, y, 0.1f, 1e-6f);
    }
  }
}

TEST(SoftmaxTest, TakesEmptyTensors) {
  Workspace ws;
  Feed<float>(&ws, "X", {0, 3}, {});
  RunOp(&ws, Op("Softmax", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {0, 3}, {});
}

TEST(SoftmaxTest, GradientIsNumericOne) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3, 4}, 3);
  CheckGradient(&ws, Op("Softmax", {"X"}, {"Y"}), {0});
  CheckGradient(&ws, Op("Softmax", {"X"}, {"Y"}, {MakeArgument<int>("axis", 2)}), {0});
}

TEST(SoftmaxTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3}, 3);
  ExpectThrows(&ws, Op("Softmax", {"X"}, {"Y"}, {MakeArgument<int>("axis", 2)}), "axis 2");
  Feed<int>(&ws, "I", {2, 3}, std::vector<int>(6));
  ExpectThrows(&ws, Op("Softmax", {"I"}, {"Y"}), "int");
}

}  // namespace
}  // namespace caffe2::testing
