#include "train/kept_checkpoints.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "caffe2/core/exit_code.h"
#include "tests/db/temporary_directory.h"
#include "train/atomic_file.h"
#include "train/db_blobs.h"

namespace caffe2 {
namespace {

TEST(HasCheckpointTest, LooksAtTheKeptOnes) {
  const testing::TemporaryDirectory directory;
  OutputOptions output;
  output.checkpoint_path = directory.Path("checkpoint");
  output.keep_checkpoints = 3;
  EXPECT_FALSE(HasCheckpoint(output));
  std::ofstream(output.checkpoint_path + ".2") << "the oldest";
  EXPECT_TRUE(HasCheckpoint(output));
  output.keep_checkpoints = 2;
  EXPECT_FALSE(HasCheckpoint(output)) << "LoadCheckpoint does not look at it";
  std::ofstream(output.checkpoint_path) << "the newest";
  EXPECT_TRUE(HasCheckpoint(output));
}

// Checkpoints at "<path>", "<path>.1", ... without parameters.
class NewestCheckpointTest : public ::testing::Test {
 protected:
  NewestCheckpointTest() {
    output_.checkpoint_path = directory_.Path("checkpoint");
    output_.checkpoint_every = 1;
    output_.keep_checkpoints = 3;
  }

  std::string File(int i) const {
    return i == 0 ? output_.checkpoint_path : MakeString(output_.checkpoint_path, ".", i);
  }

  // `lineage` is "" for one of an older program.
  void Write(int i, const std::string& lineage) {
    CheckpointProto header;
    header.set_version(1);
    header.set_run_id(std::string(100'000, 'r'));  // what follows lies far from the beginning
    if (!lineage.empty()) header.set_lineage(lineage);
    Workspace ws;
    *ws.CreateBlob("!!CHECKPOINT")->GetMutable<std::string>() =
        lineage.empty() ? header.SerializeAsString() : HeaderBytes(header);
    SaveBlobs(&ws, {"!!CHECKPOINT"}, {File(i)});
  }
  void Cut(int i) const { std::filesystem::resize_file(File(i), 5000); }
  void Overwrite(int i) const { std::ofstream(File(i)) << std::string(5000, '\0'); }

  std::string Newest() const { return NewestCheckpoint(output_.checkpoint_path, output_); }
  std::string Error() const {
    try {
      return "took " + Newest();
    } catch (const IoError& error) {
      EXPECT_EQ(ExitCodeOf(error), ExitCode::kBadData);
      return error.what();
    }
  }

  const testing::TemporaryDirectory directory_;
  OutputOptions output_;
  const std::string first_ = NewLineage(), second_ = NewLineage();
};

TEST_F(NewestCheckpointTest, LineagesAreRandomAndReadBack) {
  EXPECT_NE(first_, second_);
  EXPECT_EQ(first_.size(), 32u);
  Write(0, first_);
  Write(1, "");
  EXPECT_EQ(LineageOf(File(0)), first_);
  Cut(0);
  EXPECT_EQ(LineageOf(File(0)), first_);
  EXPECT_EQ(LineageOf(File(1)), "");
  EXPECT_EQ(LineageOf(File(2)), "") << "no such file";
}

TEST_F(NewestCheckpointTest, AHeaderKeepsAllItsFields) {
  CheckpointProto header, read;
  header.set_version(7);
  header.set_run_id("a");
  header.set_lineage(first_);
  header.add_model("m");
  ASSERT_TRUE(read.ParseFromString(HeaderBytes(header)));
  EXPECT_EQ(read.SerializeAsString(), header.SerializeAsString());
}

TEST_F(NewestCheckpointTest, TakesAnOlderOneOfTheSameRun) {
  Write(0, first_);
  Write(1, first_);
  EXPECT_EQ(Newest(), File(0));
  Cut(0);
  EXPECT_EQ(Newest(), File(1));
  EXPECT_TRUE(std::filesystem::exists(File(0) + ".damaged"));
}

TEST_F(NewestCheckpointTest, TakesNoneOfAnEarlierRun) {
  Write(0, second_);
  Write(1, first_);
  Write(2, first_);
  Cut(0);
  EXPECT_EQ(Error(), "no checkpoint of the run that wrote " + File(0) + " is intact: " + File(0) +
                         " is damaged or cut short: its checksum does not match; rename " +
                         File(1) + " to " + File(0) + " to go on from the earlier run");
  EXPECT_FALSE(std::filesystem::exists(File(0) + ".damaged"));
  std::filesystem::rename(File(1), File(0));
  EXPECT_EQ(Newest(), File(0));
}

TEST_F(NewestCheckpointTest, PassesOverAnotherRunToOneOfItsOwn) {
  Write(0, second_);
  Write(1, first_);
  Write(2, second_);
  Cut(0);
  EXPECT_EQ(Newest(), File(2));
}

TEST_F(NewestCheckpointTest, OneThatIsGoneHidesNoOther) {
  Write(1, first_);
  EXPECT_EQ(Newest(), File(1));
}

TEST_F(NewestCheckpointTest, OlderProgramsWroteNoLineage) {
  Write(0, second_);
  Write(1, "");
  Cut(0);
  EXPECT_EQ(Newest(), File(1));
  Write(0, "");
  Write(1, first_);
  Cut(0);
  EXPECT_EQ(Newest(), File(1));
}

TEST_F(NewestCheckpointTest, AFileThatIsLostWhollyDoesNotSayWhoseItWas) {
  Write(0, second_);
  Write(1, first_);
  Overwrite(0);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(Newest(), File(1));
  EXPECT_NE(::testing::internal::GetCapturedStderr().find(
                "though the damaged ones do not tell whether they are of that run"),
            std::string::npos);
}

}  // namespace
}  // namespace caffe2
