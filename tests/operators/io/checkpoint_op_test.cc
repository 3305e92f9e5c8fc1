#include <gtest/gtest.h>

#include <filesystem>

#include "operators/io/load_save_op.h"
#include "tests/db/temporary_directory.h"
#include "tests/operators/io/load_save_test_util.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

class CheckpointOpTest : public LoadSaveTest {};

TEST_P(CheckpointOpTest, CheckpointsComeEverySoManyIterations) {
  const auto checkpoint = [&](const std::string& type, int64_t iteration) {
    Feed<int64_t>(&ws_, "iter", {1}, {iteration});
    Feed<float>(&ws_, "w", {1}, {static_cast<float>(iteration)});
    RunOp(&ws_, Op(type, {"iter", "w"}, {}, DBArgs("model_%04d", {MakeArgument<int>("every", 5)})),
          kInferenceOptional);
  };
  for (int64_t i = 0; i < 7; ++i) checkpoint("Checkpoint", i);
  checkpoint("Snapshot", 10);
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory_.Path(""))) {
    files.insert(entry.path().filename());
  }
  EXPECT_EQ(files, std::set<std::string>({"model_0000", "model_0005", "model_0010"}));
  RunOp(&other_, LoadOp({"w", "iter"}, "model_0005"), kInferenceOptional);
  EXPECT_EQ(FetchValues<float>(other_, "w"), Floats{5});
}

TEST_P(CheckpointOpTest, TakesTheArgumentsOfSave) {
  Feed<int64_t>(&ws_, "iter", {1}, {0});
  Feed<float>(&ws_, "trainer/w", {1}, {3});
  RunOp(&ws_,
        Op("Checkpoint", {"iter", "trainer/w"}, {},
           DBArgs("model_%d", {MakeArgument<std::string>("strip_prefix", "trainer/")})),
        kInferenceOptional);
  RunOp(&other_, LoadOp({"w", "iter"}, "model_0"), kInferenceOptional);
  EXPECT_EQ(FetchValues<float>(other_, "w"), Floats{3});
}

INSTANTIATE_TEST_SUITE_P(AllTypes, CheckpointOpTest, ::testing::Values("lmdb", "leveldb", "minidb"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace caffe2::testing
