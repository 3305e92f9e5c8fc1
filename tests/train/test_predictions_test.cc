#include "train/test_predictions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "caffe2/core/logging.h"

namespace caffe2 {
namespace {

using Counts = std::map<std::pair<int32_t, int32_t>, int64_t>;

TEST(TestPredictionsTest, CountsLabelsAndKeepsTheWorst) {
  TestPredictions predictions(2);
  const float right[] = {0.1f, 0.9f}, wrong[] = {0.75f, 0.25f}, worse[] = {0.875f, 0.125f},
              worst[] = {1.f, 0.f};
  predictions.Add(0, 1, right, 2);
  predictions.Add(1, 1, wrong, 2);
  predictions.Add(2, 1, worst, 2);
  predictions.Add(3, 1, worse, 2);
  predictions.Add(4, 0, worst, 2);
  EXPECT_EQ(predictions.counts(), (Counts{{{0, 0}, 1}, {{1, 0}, 3}, {{1, 1}, 1}}));
  ASSERT_EQ(predictions.worst().size(), 2u);
  EXPECT_EQ(predictions.worst()[0].record, 2);
  EXPECT_EQ(predictions.worst()[1].record, 3);
  EXPECT_EQ(predictions.worst()[1].label, 1);
  EXPECT_EQ(predictions.worst()[1].predicted, 0);
  EXPECT_EQ(predictions.worst()[1].confidence, 0.875f);
  EXPECT_EQ(predictions.worst()[1].label_probability, 0.125f);
}

TEST(TestPredictionsTest, EqualProbabilitiesGoToTheSmallerLabel) {
  TestPredictions predictions(1);
  const float same[] = {0.25f, 0.375f, 0.375f};
  predictions.Add(0, 2, same, 3);
  EXPECT_EQ(predictions.counts(), (Counts{{{2, 1}, 1}}));
}

TEST(TestPredictionsTest, WhatIsNoNumberIsNeverPredicted) {
  TestPredictions predictions(3);
  const float nan = std::nanf("");
  const float row[] = {nan, 0.25f, nan};
  predictions.Add(0, 2, row, 3);
  predictions.Add(1, 1, row, 3);
  EXPECT_EQ(predictions.counts(), (Counts{{{1, 1}, 1}, {{2, 1}, 1}}));
  ASSERT_EQ(predictions.worst().size(), 1u);
  EXPECT_EQ(predictions.worst()[0].label_probability, 0.f);
}

TEST(TestPredictionsTest, NoneOfTheWorstAreKeptIfNoneAreAskedFor) {
  TestPredictions predictions(0);
  const float wrong[] = {1.f, 0.f};
  predictions.Add(0, 1, wrong, 2);
  EXPECT_TRUE(predictions.worst().empty());
  EXPECT_EQ(predictions.counts(), (Counts{{{1, 0}, 1}}));
}

// The parts of three shards, merged, are what one shard finds in all images.
TEST(TestPredictionsTest, MergedPartsAreTheWhole) {
  constexpr int kLabels = 4, kImages = 200, kShards = 3;
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(0.f, 1.f);
  TestPredictions whole(10), merged(10);
  std::vector<TestPredictions> parts(kShards, TestPredictions(10));
  for (int i = 0; i < kImages; ++i) {
    float row[kLabels];
    for (float& value : row) value = uniform(random) / 3;
    const int label = static_cast<int>(random() % kLabels);
    whole.Add(i, label, row, kLabels);
    parts[static_cast<size_t>(i % kShards)].Add(i, label, row, kLabels);
  }
  for (const TestPredictions& part : parts) merged.Merge(part.Encode());
  EXPECT_EQ(merged.counts(), whole.counts());
  ASSERT_EQ(merged.worst().size(), 10u);
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(merged.worst()[i].record, whole.worst()[i].record);
    EXPECT_EQ(merged.worst()[i].confidence, whole.worst()[i].confidence);
    EXPECT_EQ(merged.worst()[i].label_probability, whole.worst()[i].label_probability);
  }
}

TEST(TestPredictionsTest, ATextThatIsCutShortIsAnError) {
  TestPredictions predictions(2);
  for (const char* text : {"", "2\n0 0 1\n", "x", "0\n1 2 3 nonsense"}) {
    EXPECT_THROW(predictions.Merge(text), EnforceNotMet) << text;
  }
}

}  // namespace
}  // namespace caffe2
