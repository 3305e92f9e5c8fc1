#include <cmath>

#include "tests/operators/loss/wide_labels.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(AccuracyTest, CountsLabelsAmongTheBest) {
  Workspace ws;
  Feed<float>(&ws, "X", {4, 3}, {1, 2, 3, 3, 2, 1, 1, 1, 1, 0, 5, 4});
  Feed<int>(&ws, "label", {4}, {2, 1, 0, 0});
  RunOp(&ws, Op("Accuracy", {"X", "label"}, {"accuracy"}));
  ExpectTensor(ws, "accuracy", {}, {0.5f});  // row 2: of equal values the first wins
  RunOp(&ws, Op("Accuracy", {"X", "label"}, {"accuracy"}, {MakeArgument<int>("top_k", 2)}));
  ExpectTensor(ws, "accuracy", {}, {0.75f});
  RunOp(&ws, Op("Accuracy", {"X", "label"}, {"accuracy"}, {MakeArgument<int>("top_k", 5)}));
  ExpectTensor(ws, "accuracy", {}, {1});
}

TEST(AccuracyTest, HandlesNanAndNoRows) {
  Workspace ws;
  Feed<float>(&ws, "X", {1, 2}, {NAN, 0});
  Feed<int>(&ws, "label", {1}, {0});
  RunOp(&ws, Op("Accuracy", {"X", "label"}, {"accuracy"}));
  ExpectTensor(ws, "accuracy", {}, {0});
  Feed<float>(&ws, "E", {0, 2}, {});
  Feed<int>(&ws, "none", {0}, {});
  RunOp(&ws, Op("Accuracy", {"E", "none"}, {"accuracy"}));
  ExpectTensor(ws, "accuracy", {}, {0});
}

TEST(AccuracyTest, TakesWideLabels) {
  Workspace ws;
  FeedRandom(&ws, "X", {6, 3}, 1);
  Feed<int>(&ws, "label", {6}, {0, 1, 2, 2, 1, 0});
  ExpectWideLabelsWork(&ws, Op("Accuracy", {"X", "label"}, {"accuracy"}));
}

TEST(AccuracyTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {1, 2}, 1);
  Feed<int>(&ws, "label", {1}, {2});
  ExpectThrows(&ws, Op("Accuracy", {"X", "label"}, {"a"}), "label 2 of row 0");
  ExpectThrows(&ws, Op("Accuracy", {"X", "label"}, {"a"}, {MakeArgument<int>("top_k", 0)}),
               "top_k");
}

}  // namespace
}  // namespace caffe2::testing
