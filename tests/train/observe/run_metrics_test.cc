#include "train/observe/run_metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <sstream>

#include "train/options.h"

namespace caffe2 {
namespace {

// Reads Prometheus' text format: every sample by name and labels. Fails for a sample without its
// HELP and TYPE before it, and for a metric that comes twice.
std::map<std::string, std::string> Samples(const std::string& text) {
  std::map<std::string, std::string> samples;
  std::set<std::string> metrics;
  std::string helped, typed, line;
  for (std::istringstream lines(text); std::getline(lines, line);) {
    std::istringstream words(line);
    std::string hash, what, name;
    words >> hash >> what >> name;
    if (what == "HELP") {
      EXPECT_TRUE(metrics.insert(name).second) << name;
      helped = name;
    } else if (what == "TYPE") {
      typed = name;
    } else {
      EXPECT_EQ(line.substr(0, line.find('{')), helped);
      EXPECT_EQ(helped, typed);
      const size_t blank = line.rfind(' ');
      EXPECT_TRUE(samples.emplace(line.substr(0, blank), line.substr(blank + 1)).second) << line;
    }
  }
  EXPECT_EQ(text.back(), '\n');
  return samples;
}

TEST(RunMetricsTest, BeforeTheFirstIterationThereIsNoLoss) {
  const RunMetrics metrics("r", 1, 2);
  const auto samples = Samples(metrics.Text());
  EXPECT_EQ(samples.at("doppio_state{run=\"r\",shard=\"1\",state=\"joining\"}"), "1");
  EXPECT_EQ(samples.at("doppio_state{run=\"r\",shard=\"1\",state=\"training\"}"), "0");
  EXPECT_EQ(samples.at("doppio_shards{run=\"r\",shard=\"1\"}"), "2");
  EXPECT_EQ(samples.at("doppio_iterations_total{run=\"r\",shard=\"1\"}"), "0");
  EXPECT_EQ(samples.count("doppio_loss{run=\"r\",shard=\"1\"}"), 0u);
  EXPECT_GT(std::stod(samples.at("process_resident_memory_bytes{run=\"r\",shard=\"1\"}")), 1e6);
  EXPECT_GT(std::stod(samples.at("process_start_time_seconds{run=\"r\",shard=\"1\"}")), 1.6e9);
}

TEST(RunMetricsTest, TheNewestReportsAreShown) {
  TrainOptions options;
  options.schedule.batch_size = 8;
  options.schedule.num_epochs = 5;
  RunMetrics metrics("r", 0, 3);
  metrics.OnStart({.options = &options});
  metrics.OnState("training");
  metrics.OnIteration({.epoch = 1, .iteration = 3, .total_iterations = 1, .loss = 9});
  metrics.OnIteration({.epoch = 2,
                       .iteration = 4,
                       .epoch_iterations = 10,
                       .total_iterations = 24,
                       .loss = 0.5,
                       .accuracy = 0.75,
                       .images_per_second = 100.25,
                       .job_images_per_second = 300,
                       .input_wait = 0.125});
  metrics.OnTest({.epoch = 1, .images = 100, .loss = 0.25, .accuracy = 0.875});
  metrics.OnModelSaved("a");
  metrics.OnModelSaved("b");
  metrics.OnState("saving");
  EXPECT_NE(metrics.Text().find("# HELP doppio_epoch Epoch of the last logged iteration, counted "
                                "from 0: 0 is the first one"),
            std::string::npos);
  const auto samples = Samples(metrics.Text());
  const auto value = [&](const std::string& name) {
    return samples.at("doppio_" + name + "{run=\"r\",shard=\"0\"}");
  };
  EXPECT_EQ(samples.at("doppio_state{run=\"r\",shard=\"0\",state=\"saving\"}"), "1");
  EXPECT_EQ(samples.at("doppio_state{run=\"r\",shard=\"0\",state=\"training\"}"), "0");
  EXPECT_EQ(value("epoch"), "2");
  EXPECT_EQ(value("epochs"), "5");
  EXPECT_EQ(value("epoch_iteration"), "4");
  EXPECT_EQ(value("epoch_iterations"), "10");
  EXPECT_EQ(value("iterations_total"), "24");
  EXPECT_EQ(value("images_total"), "576");
  EXPECT_EQ(value("loss"), "0.5");
  EXPECT_EQ(value("accuracy"), "0.75");
  EXPECT_EQ(value("images_per_second"), "100.25");
  EXPECT_EQ(value("job_images_per_second"), "300");
  EXPECT_EQ(value("input_wait_ratio"), "0.125");
  EXPECT_EQ(value("test_accuracy"), "0.875");
  EXPECT_EQ(value("models_saved_total"), "2");
}

TEST(RunMetricsTest, LabelsAndNumbersAreEscaped) {
  RunMetrics metrics("a\"b\\c\nd", 0, 1);
  metrics.OnIteration({.total_iterations = 1,
                       .loss = std::nan(""),
                       .accuracy = std::numeric_limits<double>::infinity()});
  const auto samples = Samples(metrics.Text());
  const std::string labels = "{run=\"a\\\"b\\\\c\\nd\",shard=\"0\"}";
  EXPECT_EQ(samples.at("doppio_loss" + labels), "NaN");
  EXPECT_EQ(samples.at("doppio_accuracy" + labels), "+Inf");
}

}  // namespace
}  // namespace caffe2
