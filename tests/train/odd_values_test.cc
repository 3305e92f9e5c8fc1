#include "train/odd_values.h"

#include <gtest/gtest.h>

#include "caffe2/core/cpu_cores.h"

namespace caffe2 {
namespace {

TEST(OddValuesTest, NothingIsOddAboutTheDefaults) { EXPECT_TRUE(OddValues({}).empty()); }

TEST(OddValuesTest, PixelsFromZeroToOneAreTranslated) {
  EXPECT_EQ(
      DoubtOnPixels({0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}),
      "--mean 0.485,0.456,0.406 and --std 0.229,0.224,0.225 look like values for pixels from 0 "
      "to 1, red, green, blue. Here pixels go from 0 to 255, blue, green, red: write --mean "
      "103.5,116.3,123.7 --std 57.4,57.1,58.4");
  EXPECT_NE(DoubtOnPixels({0.5f}, {0.5f}).find("--mean 127.5 --std 127.5"), std::string::npos);
  EXPECT_EQ(DoubtOnPixels({0.485f, 0.456f, 0.406f}, {128.f}),
            "--mean 0.485,0.456,0.406 looks like a value for pixels from 0 to 1, red, green, blue. "
            "Here pixels go from 0 to 255, blue, green, red: write --mean 103.5,116.3,123.7");
  EXPECT_EQ(DoubtOnPixels({0.f}, {1.f}), "");
  EXPECT_EQ(DoubtOnPixels({0.f}, {0.5f}), "");
  EXPECT_EQ(DoubtOnPixels({103.5f, 116.3f, 0.5f}, {0.5f, 0.5f, 0.5f}), "");
  TrainOptions options;
  options.data.mean = options.data.std = {0.5f};
  EXPECT_EQ(OddValues(options).size(), 1u);
}

TEST(OddValuesTest, WarmupAndThreadsAreComparedWithTheRun) {
  TrainOptions options;
  options.schedule.num_epochs = 3;
  options.model.warmup_epochs = 3;
  options.shards.num_threads = 4 * AvailableCores();
  EXPECT_TRUE(OddValues(options).empty());
  options.model.warmup_epochs = 3.5;
  ++options.shards.num_threads;
  const std::vector<std::string> doubts = OddValues(options);
  ASSERT_EQ(doubts.size(), 2u);
  EXPECT_NE(doubts[0].find("--warmup_epochs 3.5 is more than --num_epochs 3"), std::string::npos);
  EXPECT_NE(doubts[1].find("--num_threads is "), std::string::npos);
}

TEST(OddValuesTest, FrozenParametersComeFromAModel) {
  TrainOptions options;
  options.model.freeze = {"conv1", "res2"};
  const std::vector<std::string> doubts = OddValues(options);
  ASSERT_EQ(doubts.size(), 1u);
  EXPECT_NE(doubts[0].find("--freeze conv1,res2 keeps parameters at their random start"),
            std::string::npos);
  options.output.load_model_path = "model.mdl";
  EXPECT_TRUE(OddValues(options).empty());
  options.output.load_model_path.clear();
  options.output.resume = true;
  EXPECT_TRUE(OddValues(options).empty());
}

}  // namespace
}  // namespace caffe2
