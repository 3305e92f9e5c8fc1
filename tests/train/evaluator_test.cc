#include "train/evaluator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "caffe2/core/logging.h"

namespace caffe2 {
namespace {

TEST(EvaluatorTest, CountsTheGivenRowsOnly) {
  const Tensor softmax({3, 6}, std::vector<float>{0.5f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f,    //
                                                  0.3f, 0.2f, 0.2f, 0.15f, 0.1f, 0.05f,  //
                                                  0.3f, 0.2f, 0.2f, 0.15f, 0.1f, 0.05f});
  const Tensor label({3}, std::vector<int32_t>{0, 4, 5});
  TestSums sums;
  AddRows(softmax, label, 2, &sums);
  EXPECT_EQ(sums.images, 2);
  EXPECT_EQ(sums.top1, 1);
  EXPECT_EQ(sums.top5, 2);
  EXPECT_NEAR(sums.loss, -std::log(0.5) - std::log(0.1), 1e-6);
  AddRows(softmax, label, 3, &sums);
  EXPECT_EQ(sums.images, 5);
  EXPECT_EQ(sums.top5, 4);  // the sixth best of row 2 is not among five
}

TEST(EvaluatorTest, EqualScoresGoToTheSmallerIndex) {
  const Tensor softmax({2, 2}, std::vector<float>{0.5f, 0.5f, 0.5f, 0.5f});
  const Tensor label({2}, std::vector<int32_t>{0, 1});
  TestSums sums;
  AddRows(softmax, label, 2, &sums);
  EXPECT_EQ(sums.top1, 1);
}

TEST(EvaluatorTest, ScoresThatAreNoNumbersAreNeverRight) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor softmax({1, 6}, std::vector<float>(6, nan));
  const Tensor label({1}, std::vector<int32_t>{0});
  TestSums sums;
  AddRows(softmax, label, 1, &sums);
  EXPECT_EQ(sums.top1, 0);
  EXPECT_EQ(sums.top5, 0);
}

TEST(EvaluatorTest, LabelsOutOfRangeAreErrors) {
  const Tensor softmax({1, 2}, std::vector<float>{0.5f, 0.5f});
  TestSums sums;
  EXPECT_THROW(AddRows(softmax, Tensor({1}, std::vector<int32_t>{2}), 1, &sums), EnforceNotMet);
  EXPECT_THROW(AddRows(softmax, Tensor({1}, std::vector<int32_t>{-1}), 1, &sums), EnforceNotMet);
}

TEST(EvaluatorTest, NamesScoresOfAnotherShape) {
  const Tensor softmax({1, 2}, std::vector<float>{0.5f, 0.5f});
  const Tensor labels({2}, std::vector<int32_t>{0, 1});
  TestSums sums;
  try {
    AddRows(softmax, labels, 2, &sums);
    FAIL() << "scores of one image were taken for two";
  } catch (const EnforceNotMet& error) {
    EXPECT_NE(std::string(error.what()).find("each of 2 images, found shape [1, 2]"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace caffe2
