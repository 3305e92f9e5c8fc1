#include "train/log.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "caffe2/core/logging.h"
#include "tests/db/temporary_directory.h"

namespace caffe2 {
namespace {

TEST(LogTest, CsvHasTheColumnsOfModelTrainerLog) {
  const testing::TemporaryDirectory directory;
  const std::string path = directory.Path("log.csv");
  {
    CsvLog log(path, "batch_size=4");
    EpochReport report{.epoch = 0,
                       .num_epochs = 2,
                       .loss = 0.5,
                       .accuracy = 0.75,
                       .seconds = 2,
                       .images = 100,
                       .learning_rate = 0.125,
                       .total_iterations = 25,
                       .test_accuracy = 0.875};
    log.OnEpochEnd(report);
    report.epoch = 1;
    report.total_iterations = 50;
    report.test_accuracy = -1;
    log.OnEpochEnd(report);
  }
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(),
            "# batch_size=4\n"
            "time_spent,cumulative_time_spent,input_count,cumulative_input_count,"
            "cumulative_batch_count,inputs_per_sec,accuracy,epoch,learning_rate,loss,"
            "test_accuracy\n"
            "2,2,100,100,25,50,0.75,0,0.125,0.5,0.875\n"
            "2,4,100,200,50,50,0.75,1,0.125,0.5,-1\n");
}

TEST(LogTest, CsvGoesOnAfterTheLastWholeRow) {
  const testing::TemporaryDirectory directory;
  const std::string path = directory.Path("log.csv");
  EpochReport report{.accuracy = 0.75, .seconds = 2, .images = 100, .total_iterations = 25};
  CsvLog(path, "first").OnEpochEnd(report);
  std::ofstream(path, std::ios::app) << "2,4,100";
  const auto log = CsvLog::GoOn(path, "second");
  log->OnEpochEnd(report);  // it is written already
  report.epoch = 1;
  log->OnEpochEnd(report);
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "# first");
  EXPECT_EQ(lines[2], "2,2,100,100,25,50,0.75,0,0,0,-1");
  EXPECT_EQ(lines[3], "2,4,100,200,25,50,0.75,1,0,0,-1");
}

TEST(LogTest, CsvNamesWhatItCannotWrite) {
  try {
    CsvLog log("/nonexistent/log.csv", "");
    FAIL() << "no exception";
  } catch (const IoError& error) {
    EXPECT_NE(std::string(error.what()).find("/nonexistent/log.csv"), std::string::npos);
  }
}

}  // namespace
}  // namespace caffe2
