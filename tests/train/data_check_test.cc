#include "train/data_check.h"

#include <gtest/gtest.h>

#include "tests/db/temporary_directory.h"
#include "tests/train/train_test_util.h"

namespace caffe2 {
namespace {

class DataCheckTest : public ::testing::Test {
 protected:
  DataCheckTest() : database_(directory_.Path("train.minidb")) {
    testing::MakeImageDatabase(database_, 10, 8, 2, 1);
    options_ = testing::SmallRun(database_, "mlp", 8, 2);
  }

  testing::TemporaryDirectory directory_;
  std::string database_;
  TrainOptions options_;
};

TEST_F(DataCheckTest, WarnsOfTestsOnTheTrainingImages) {
  options_.data.test_data = "";
  EXPECT_TRUE(DataWarnings(options_).empty());
  options_.data.test_data = directory_.Path("./train.minidb");
  const auto warnings = DataWarnings(options_);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("are the same images, " + database_), std::string::npos);
  options_.data.test_data = directory_.Path("test.minidb");
  testing::MakeImageDatabase(options_.data.test_data, 10, 8, 2, 2);
  EXPECT_TRUE(DataWarnings(options_).empty());
}

}  // namespace
}  // namespace caffe2
