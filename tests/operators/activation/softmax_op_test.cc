#include <limits>

#include "tests/operators/activation/softmax_reference.h"
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
