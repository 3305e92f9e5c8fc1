#include <algorithm>
#include <cmath>

#include "tests/operators/loss/wide_labels.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(LabelCrossEntropyTest, IsMinusLogOfLabel) {
  Workspace ws;
  Feed<float>(&ws, "X", {3, 2}, {0.2f, 0.8f, 0.5f, 0.5f, 1, 0});
  Feed<int>(&ws, "label", {3}, {1, 0, 1});
  RunOp(&ws, Op("LabelCrossEntropy", {"X", "label"}, {"Y"}));
  ExpectTensor(ws, "Y", {3}, {-std::log(0.8f), -std::log(0.5f), -std::log(1e-20f)});
}

TEST(LabelCrossEntropyTest, GradientIsNumericOne) {
  Workspace ws;
  FeedRandom(&ws, "X", {4, 3}, 1, 0.3f, 0.9f);
  Feed<int>(&ws, "label", {4, 1}, {1, 0, 2, 2});
  CheckGradient(&ws, Op("LabelCrossEntropy", {"X", "label"}, {"Y"}), {0});
}

TEST(LabelCrossEntropyTest, TakesWideLabels) {
  Workspace ws;
  FeedRandom(&ws, "X", {3, 4}, 1, 0.1f, 0.9f);
  Feed<int>(&ws, "label", {3, 1}, {3, 0, 1});
  ExpectWideLabelsWork(&ws, Op("LabelCrossEntropy", {"X", "label"}, {"Y"}));
}

TEST(LabelCrossEntropyTest, RejectsBadLabels) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3}, 1, 0.3f, 0.9f);
  const OperatorDef op = Op("LabelCrossEntropy", {"X", "label"}, {"Y"});
  Feed<int>(&ws, "label", {2}, {0, 10});
  ExpectThrows(&ws, op, "label 10 of row 1 is out of range for 3 classes");
  Feed<int>(&ws, "label", {3}, {0, 0, 0});
  ExpectThrows(&ws, op,
               "label must have one class index for each row: label has shape [3], the "
               "probabilities [2, 3]");
}

TEST(CrossEntropyTest, WeighsLogs) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 2}, {0.2f, 0.8f, 0.5f, 0.5f});
  Feed<float>(&ws, "T", {2, 2}, {0.3f, 0.7f, 1, 0});
  RunOp(&ws, Op("CrossEntropy", {"X", "T"}, {"Y"}));
  ExpectTensor(ws, "Y", {2}, {-0.3f * std::log(0.2f) - 0.7f * std::log(0.8f), -std::log(0.5f)});
  Feed<float>(&ws, "T3", {2, 3}, std::vector<float>(6));
  ExpectThrows(&ws, Op("CrossEntropy", {"X", "T3"}, {"Y"}), "[2, 3]");
}

// Loops run across rows of fewer than 32 elements, 16 rows at a time.
TEST(CrossEntropyTest, TakesManyShortRows) {
  for (const int64_t n : {0, 1, 3, 8, 31, 32}) {
    for (const int64_t rows : {1, 16, 17, 3000}) {
      Workspace ws;
      FeedRandom(&ws, "X", {rows, n}, 1, 0, 1);
      FeedRandom(&ws, "T", {rows, n}, 2, 0, 1);
      std::vector<float> x = FetchValues<float>(ws, "X"), y;
      const std::vector<float> t = FetchValues<float>(ws, "T");
      if (n > 0) x[rows / 2 * n] = 0;
      Feed(&ws, "X", {rows, n}, x);
      for (int64_t r = 0; r < rows; ++r) {
        double sum = 0;
        for (int64_t i = r * n; i < (r + 1) * n; ++i) {
          sum -= t[i] * std::log(std::max(double{x[i]}, 1e-20));
        }
        y.push_back(static_cast<float>(sum));
      }
      RunOp(&ws, Op("CrossEntropy", {"X", "T"}, {"Y"}));
      ExpectTensor(ws, "Y", {rows}, y, 2e-6f, 1e-6f);
    }
  }
}

TEST(CrossEntropyTest, GradientIsNumericOne) {
  Workspace ws;
  FeedRandom(&ws, "X", {4, 3}, 1, 0.3f, 0.9f);
  FeedRandom(&ws, "T", {4, 3}, 2, 0.1f, 0.9f);
  CheckGradient(&ws, Op("CrossEntropy", {"X", "T"}, {"Y"}), {0});
}

TEST(MakeTwoClassTest, AddsTheOtherClass) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 1}, {0.2f, 0.9f});
  RunOp(&ws, Op("MakeTwoClass", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 1, 2}, {0.8f, 0.2f, 0.1f, 0.9f});
  CheckGradient(&ws, Op("MakeTwoClass", {"X"}, {"Y"}), {0});
  Feed<float>(&ws, "dY", {3}, {1, 2, 3});
  ExpectThrows(&ws, Op("MakeTwoClassGradient", {"dY"}, {"dX"}), "[3]");
}

}  // namespace
}  // namespace caffe2::testing
