#include "train/observe/job_progress.h"

#include <gtest/gtest.h>

#include "train/options.h"

namespace caffe2 {
namespace {

TEST(JobProgressTest, DurationsReadAsPeopleWriteThem) {
  EXPECT_EQ(DurationText(0), "0:00");
  EXPECT_EQ(DurationText(59.6), "1:00");
  EXPECT_EQ(DurationText(3723), "1:02:03");
  EXPECT_EQ(DurationText(2 * 86400 + 3 * 3600 + 4 * 60 + 5), "2 d 03:04:05");
}

// Four epochs of 100 iterations, of which the run has done 50 in 10 s.
class JobProgressOfRunTest : public ::testing::Test {
 protected:
  JobProgressOfRunTest() {
    options_.schedule.batch_size = 10;
    options_.schedule.epoch_size = 1000;
    options_.schedule.num_epochs = 4;
  }
  std::string Text(int epoch, int64_t iteration, int64_t total, int64_t epoch_iterations = 100) {
    JobProgress progress;
    progress.Start({.options = &options_, .total_iterations = started_at_});
    return progress.Text({.epoch = epoch,
                          .iteration = iteration,
                          .epoch_iterations = epoch_iterations,
                          .total_iterations = total},
                         10);
  }

  TrainOptions options_;
  int64_t started_at_ = 0;
};

TEST_F(JobProgressOfRunTest, TimeLeftIsInProportion) {
  EXPECT_EQ(Text(0, 50, 50), "12.5 %, ETA 1:10");  // 350 iterations, five a second
  EXPECT_EQ(Text(3, 100, 400), "100.0 %, ETA 0:00");
}

TEST_F(JobProgressOfRunTest, AResumedRunIsMeasuredFromWhereItGoesOn) {
  started_at_ = 200;
  EXPECT_EQ(Text(2, 50, 250), "62.5 %, ETA 0:30");  // 150 iterations, 50 in 10 s
}

// Since the batch grew within it, epoch 2 has only 60 iterations.
TEST_F(JobProgressOfRunTest, AnEpochMayHaveOtherIterations) {
  started_at_ = 200;
  EXPECT_EQ(Text(2, 50, 250, 60), "69.4 %, ETA 0:22");  // 110 iterations, 50 in 10 s
}

TEST_F(JobProgressOfRunTest, MaxIterationsEndsTheJob) {
  options_.schedule.max_iterations = 100;
  EXPECT_EQ(Text(0, 50, 50), "50.0 %, ETA 0:10");
}

// A run that starts from the model of epoch 2 counts its own iterations from 0.
TEST_F(JobProgressOfRunTest, ALoadedEpochIsNotWorkDone) {
  EXPECT_EQ(Text(2, 50, 50), "25.0 %, ETA 0:30");
}

}  // namespace
}  // namespace caffe2
