#include "train/iteration_means.h"

#include <gtest/gtest.h>

namespace caffe2 {
namespace {

IterationStatus Status(int64_t iterations, double loss) {
  IterationStatus status;
  status.iterations = iterations;
  status.loss = loss;
  status.accuracy = loss / 2;
  status.accuracy_top5 = loss / 4;
  return status;
}

TEST(IterationMeansTest, WeighsByIterationsAndStartsAnew) {
  IterationMeans means;
  for (int i = 0; i < 4; ++i) means.AddSeconds(0.5);
  means.Add(Status(1, 8));
  means.Add(Status(3, 4));
  IterationReport report = means.Take(16, 3, 0.5);
  EXPECT_EQ(report.iterations, 4);
  EXPECT_EQ(report.loss, 5);
  EXPECT_EQ(report.accuracy, 2.5);
  EXPECT_EQ(report.accuracy_top5, 1.25);
  EXPECT_EQ(report.seconds, 0.5);
  EXPECT_EQ(report.images_per_second, 32);
  EXPECT_EQ(report.job_images_per_second, 96);
  EXPECT_EQ(report.input_wait, 0.25);

  means.AddSeconds(2);
  means.Add(Status(1, 1));
  report = means.Take(16, 3, 1.5);
  EXPECT_EQ(report.iterations, 1);
  EXPECT_EQ(report.loss, 1);
  EXPECT_EQ(report.seconds, 2);
  EXPECT_EQ(report.input_wait, 0.5);  // since the report before
}

TEST(IterationMeansTest, PeeksWithoutStartingAnew) {
  IterationMeans means;
  means.AddSeconds(0.5);
  IterationStatus status = Status(1, 8);
  status.shards = {{.iterations = 1, .all = 2}, {.iterations = 1, .all = 4}};
  means.Add(status);
  for (int i = 0; i < 2; ++i) {
    const IterationReport report = means.Peek(16, 2, 0.25);
    EXPECT_EQ(report.loss, 8);
    EXPECT_EQ(report.job_images_per_second, 64);
    EXPECT_EQ(report.input_wait, 0.5);
    EXPECT_TRUE(report.shards.empty());
  }
  means.AddSeconds(0.5);
  means.Add(status);
  const IterationReport report = means.Take(16, 2, 0.5);
  EXPECT_EQ(report.iterations, 2);
  EXPECT_EQ(report.input_wait, 0.5);
  ASSERT_EQ(report.shards.size(), 2);
  EXPECT_EQ(report.shards[0].images_per_second, 8);
}

TEST(IterationMeansTest, HasTheSpeedsOfAllShards) {
  IterationMeans means;
  IterationStatus status = Status(1, 1);
  status.shards = {{.iterations = 1, .all = 2}, {.iterations = 1, .all = 4}};
  means.Add(status);
  const IterationReport report = means.Take(16, 2, 0);
  ASSERT_EQ(report.shards.size(), 2);
  EXPECT_EQ(report.shards[0].images_per_second, 8);
  EXPECT_EQ(report.shards[1].images_per_second, 4);
}

}  // namespace
}  // namespace caffe2
