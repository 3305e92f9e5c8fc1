#include "train/coverage_check.h"

#include "tests/train/trainer_fixture.h"

namespace caffe2 {
namespace {

db::KeySums SumsOf(const std::vector<std::string>& keys) {
  db::KeySums sums;
  for (const std::string& key : keys) sums.Add(key);
  return sums;
}

TEST(KeySumsTest, DependOnHowOftenEachKeyComesButNotOnTheOrder) {
  const db::KeySums abc = SumsOf({"a", "b", "c"});
  EXPECT_EQ(abc, SumsOf({"c", "a", "b"}));
  EXPECT_NE(abc, SumsOf({"a", "b", "d"}));
  EXPECT_NE(abc, SumsOf({"a", "b"}));
  EXPECT_NE(SumsOf({"a", "a", "b"}), SumsOf({"a", "b", "b"}));
  EXPECT_NE(SumsOf({"a", "a"}), SumsOf({"b", "b"}));
  db::KeySums parts = SumsOf({"c"});
  parts.Add(SumsOf({"b", "a"}));
  EXPECT_EQ(parts, abc);
}

TEST(DescribeCoverageTest, SaysWhatIsWrong) {
  const db::KeySums all = SumsOf({"a", "b", "c"});
  bool right = false;
  EXPECT_EQ(DescribeCoverage(4, all, SumsOf({"b", "c", "a"}), 0, &right),
            "Coverage of --train_data, pass 4: each of 3 records was read once");
  EXPECT_TRUE(right);
  EXPECT_EQ(
      DescribeCoverage(2, all, SumsOf({"b", "c", "a"}), 1, &right),
      "Coverage of --train_data, pass 2: each of 3 records was read once; 1 of them are damaged "
      "and were not trained on");
  EXPECT_TRUE(right);
  EXPECT_EQ(DescribeCoverage(1, all, SumsOf({"a", "b", "b"}), 0, &right),
            "Coverage of --train_data, pass 1: 3 records were read of 3; some were read twice and "
            "others never");
  EXPECT_FALSE(right);
  EXPECT_NE(DescribeCoverage(1, all, SumsOf({"a"}), 0, &right).find("1 records were read of 3"),
            std::string::npos);
  EXPECT_FALSE(right);
}

class CoverageCheckTest : public TrainerTest {
 protected:
  // The lines that a run logs about coverage. `adjust_` may break it.
  std::string LinesOf(TrainOptions options, int num_shards) {
    options.data.check_coverage = true;
    ::testing::internal::CaptureStderr();
    Run(options, num_shards);
    std::string lines;
    std::istringstream log(::testing::internal::GetCapturedStderr());
    for (std::string line; std::getline(log, line);) {
      if (const size_t at = line.find("Coverage"); at != std::string::npos) {
        lines += line.substr(at) + "\n";
      }
    }
    return lines;
  }
};

// 101 records, 3 shards, batches of 8: passes end within batches.
TEST_F(CoverageCheckTest, EachPassOfAllShardsReadsEachRecordOnce) {
  TrainOptions options = Small("mlp");
  options.schedule.epoch_size = 120;
  options.schedule.num_epochs = 3;
  options.data.shuffle = true;
  const std::string line = ": each of 101 records was read once\n";
  const std::string expected = "Coverage of --train_data, pass 1" + line +
                               "Coverage of --train_data, pass 2" + line +
                               "Coverage of --train_data, pass 3" + line;
  EXPECT_EQ(LinesOf(options, 3), expected);
  EXPECT_EQ(LinesOf(options, 1), expected);
}

// 91 of the 101 records are trained on.
TEST_F(CoverageCheckTest, RecordsThatAreHeldOutAreNotRead) {
  TrainOptions options = Small("mlp");
  options.schedule.epoch_size = 120;
  options.data.holdout = 0.1f;
  EXPECT_EQ(LinesOf(options, 3),
            "Coverage of --train_data, pass 1: each of 91 records was read "
            "once\n");
}

TEST_F(CoverageCheckTest, GoesOnWithOtherBatches) {
  TrainOptions options = Small("mlp");
  options.schedule.epoch_size = 120;
  options.schedule.num_epochs = 3;
  options.data.shuffle = true;
  options.output.checkpoint_path = directory_.Path("checkpoint");
  options.output.checkpoint_every = 100;
  options.output.auto_resume = true;
  options.schedule.max_iterations = 2;  // 64 images
  EXPECT_EQ(LinesOf(options, 4), "");
  options.schedule.max_iterations = 0;
  // 48 more images in the first epoch, 120 in the others.
  EXPECT_EQ(LinesOf(options, 3),
            "Coverage of --train_data: pass 1 is not checked, because the run goes on within it\n"
            "Coverage of --train_data, pass 2: each of 101 records was read once\n"
            "Coverage of --train_data, pass 3: each of 101 records was read once\n");
}

TEST_F(CoverageCheckTest, AShardThatReadsRecordsAgainIsAnError) {
  TrainOptions options = Small("mlp");
  options.schedule.epoch_size = 120;
  options.data.shuffle = true;
  on_iteration_ = [](Trainer* trainer, int shard) {
    if (shard != 1 || trainer->progress().total_iterations != 1) return;
    // As if the shard had lost its place.
    trainer->workspace()
        ->GetBlob(trainer->nets().reader)
        ->Get<std::unique_ptr<db::DBReader>>()
        ->Restore(0);
  };
  const std::string lines = LinesOf(options, 3);
  EXPECT_NE(lines.find("pass 1: "), std::string::npos) << lines;
  EXPECT_EQ(lines.find("was read once"), std::string::npos) << lines;
}

}  // namespace
}  // namespace caffe2
