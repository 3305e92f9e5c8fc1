#include "train/data_check.h"

#include <gtest/gtest.h>

#include <fstream>

#include "caffe2/core/usage_error.h"
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

  // The message of Validate's UsageError; "" if the options are valid.
  std::string Refusal() const {
    try {
      Validate(options_);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }

  testing::TemporaryDirectory directory_;
  std::string database_;
  TrainOptions options_;
};

TEST_F(DataCheckTest, WarnsOfTestsOnTheTrainingImages) {
  options_.data.test_data = "";
  EXPECT_TRUE(DataWarnings(options_, true).empty());
  options_.data.test_data = directory_.Path("./train.minidb");
  const auto warnings = DataWarnings(options_, true);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("are the same images, " + database_), std::string::npos);
  options_.data.test_data = directory_.Path("test.minidb");
  testing::MakeImageDatabase(options_.data.test_data, 10, 8, 2, 2);
  EXPECT_TRUE(DataWarnings(options_, true).empty());
}

TEST_F(DataCheckTest, ImagesThatAreHeldOutAreNotTrainedOn) {
  options_.data.test_data = database_;
  EXPECT_EQ(DataWarnings(options_, true).size(), 1u);
  options_.data.holdout = 0.1f;
  EXPECT_TRUE(DataWarnings(options_, true).empty());
}

TEST_F(DataCheckTest, DatabasesHaveTheSameClasses) {
  const std::string test = directory_.Path("test.minidb");
  testing::MakeImageDatabase(test, 10, 8, 2, 2);
  options_.data.test_data = test;
  std::ofstream(database_ + ".classes.txt") << "bird\ncat\r\n";
  EXPECT_NO_THROW(Validate(options_));
  const auto message = [&](const std::string& names) {
    std::ofstream(test + ".classes.txt") << names;
    return Refusal();
  };
  EXPECT_EQ(message("bird\ncat\n"), "");
  EXPECT_EQ(message("cat\n"), "--train_data " + database_ + " has 2 classes and --test_data " +
                                  test + " 1; they must be the same, but only one has \"bird\"");
  EXPECT_NE(message("cat\nbird\n").find("label 0 is \"bird\" and \"cat\""), std::string::npos);
}

TEST_F(DataCheckTest, TheNetHasALabelForEachClass) {
  std::ofstream(database_ + ".classes.txt") << "bird\ncat\ndog\n";
  EXPECT_EQ(Refusal(), "--train_data " + database_ + " has 3 classes, --num_labels is 2");
  options_.model.shape.num_labels = 3;
  EXPECT_EQ(Refusal(), "");
  EXPECT_TRUE(DataWarnings(options_, true).empty());
  options_.model.shape.num_labels = 10;
  EXPECT_EQ(Refusal(), "");
  for (const bool given : {true, false}) {
    const auto warnings = DataWarnings(options_, given);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find(" has 3 classes, --num_labels is 10"), std::string::npos);
    EXPECT_EQ(warnings[0].find("(the default)") == std::string::npos, given);
  }
}

}  // namespace
}  // namespace caffe2
