#include "train/observe/memory_log.h"

#include <filesystem>
#include <map>

#include "tests/train/trainer_fixture.h"

namespace caffe2 {
namespace {

class MemoryLogTest : public TrainerTest {
 protected:
  // Trains for five iterations; returns what a MemoryReport says after them.
  MemoryReport Measure(TrainOptions options) {
    struct Listener : public TrainListener {
      void OnStart(const StartReport& start) override { run = start; }
      void OnIteration(const IterationReport& iteration) override {
        report = MeasureRunMemory(run, iteration.total_iterations);
      }
      StartReport run;
      MemoryReport report;
    };
    options.schedule.max_iterations = 5;
    options.output.log_every = 5;
    auto listener = std::make_shared<Listener>();
    Trainer trainer(options, listener);
    trainer.Run();
    return listener->report;
  }

  static std::map<std::string, std::string> Kinds(const MemoryReport& report) {
    std::map<std::string, std::string> kinds;
    for (const auto& blob : report.blobs) kinds[blob.memory.name] = blob.kind;
    return kinds;
  }

  static std::map<std::string, int64_t> Bytes(const MemoryReport& report) {
    std::map<std::string, int64_t> bytes;
    for (const auto& blob : report.blobs) bytes[blob.kind] += blob.memory.nbytes;
    return bytes;
  }
};

TEST_F(MemoryLogTest, SaysWhatEachBlobIsFor) {
  TrainOptions options = Small("resnet20_cifar");
  options.model.optimizer = "sgd";
  const MemoryReport report = Measure(options);
  EXPECT_EQ(report.iteration, 5);
  const auto kinds = Kinds(report);
  const auto bytes = Bytes(report);
  EXPECT_EQ(kinds.at("cpu_0/conv1_w"), "parameter");
  EXPECT_EQ(kinds.at("cpu_0/conv1_w_grad"), "gradient");
  EXPECT_EQ(kinds.at("cpu_0/conv1_w_momentum"), "optimizer state");
  // Each parameter has one gradient and one momentum of its size; a number counts iterations.
  EXPECT_EQ(bytes.at("gradient"), bytes.at("parameter"));
  EXPECT_EQ(bytes.at("optimizer state"), bytes.at("parameter") + 8);
  EXPECT_GT(bytes.at("activation"), bytes.at("parameter"));
  EXPECT_GT(bytes.at("activation gradient"), 0);
  // Running means and variances: two of the four vectors of each batch normalization.
  EXPECT_GT(bytes.at("statistics"), 0);
  EXPECT_LT(bytes.at("statistics"), bytes.at("parameter"));
  // The memory plan.
  EXPECT_LT(report.distinct_bytes, report.blob_bytes);
  ASSERT_EQ(report.peak_bytes.size(), 1u);
  EXPECT_GT(report.peak_bytes[0].second, report.distinct_bytes);
}

TEST_F(MemoryLogTest, CountsReplicas) {
  TrainOptions options = Small("mlp");
  const auto one = Bytes(Measure(options));
  options.devices.resize(2);
  options.schedule.batch_size *= 2;
  const auto two = Bytes(Measure(options));
  for (const char* kind : {"parameter", "gradient", "activation"}) {
    EXPECT_EQ(two.at(kind), 2 * one.at(kind)) << kind;
  }
}

TEST_F(MemoryLogTest, LinesNameTheLargestBlobs) {
  MemoryReport report;
  report.iteration = 7;
  report.blobs = {{{"big", "[1024, 256]", "float", "cpu", 1 << 20, 2}, "activation"},
                  {{"small", "[8]", "float", "cpu", 32, 0}, "parameter"}};
  report.blob_bytes = (1 << 20) + 32;
  report.distinct_bytes = 1 << 19;
  report.peak_bytes = {{"cpu", 3 << 20}};
  EXPECT_EQ(
      report.Lines(1),
      (std::vector<std::string>{
          "Memory after iteration 7: 2 blobs of 1.0 MiB in 0.5 MiB; this process had at most "
          "3.0 MiB on cpu",
          "  activation: 1.0 MiB in 1 blob", "  parameter: 0.0 MiB in 1 blob", "  The 1 largest:",
          "  1.0 MiB  big float [1024, 256], activation, shares memory with 2 others"}));
}

TEST_F(MemoryLogTest, WritesOneFile) {
  TrainOptions options = Small("mlp");
  options.schedule.max_iterations = 5;
  Trainer trainer(options, std::make_shared<MemoryLog>(directory_.Path("."), /*logs=*/true));
  trainer.Run();
  EXPECT_TRUE(std::filesystem::exists(directory_.Path("memory.json")));
  Trainer other(options, std::make_shared<MemoryLog>(directory_.Path("none"), /*logs=*/false));
  other.Run();  // a warning
}

}  // namespace
}  // namespace caffe2
