#include "train/checkpoint.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/db/temporary_directory.h"

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

}  // namespace
}  // namespace caffe2
