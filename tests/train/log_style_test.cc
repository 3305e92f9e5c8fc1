#include "train/log_style.h"

#include <gtest/gtest.h>

#include <vector>

#include "caffe2/core/logging.h"
#include "caffe2/core/usage_error.h"

namespace caffe2 {
namespace {

// The lines that are logged while it lives.
class LoggedLines : public google::LogSink {
 public:
  LoggedLines() { google::AddLogSink(this); }
  ~LoggedLines() override { google::RemoveLogSink(this); }
  void send(google::LogSeverity /*severity*/, const char* /*full_filename*/,
            const char* /*base_filename*/, int /*line*/, const struct ::tm* /*time*/,
            const char* message, size_t length) override {
    lines.emplace_back(message, length);
  }

  std::vector<std::string> lines;
};

constexpr IterationReport kFirst = {.epoch = 2,
                                    .iteration = 1,
                                    .epoch_iterations = 4,
                                    .iterations = 1,
                                    .seconds = 0.5,
                                    .loss = 2,
                                    .accuracy = 0.25,
                                    .accuracy_top5 = 0.75,
                                    .input_wait = 0.5};

TEST(LogStyleTest, PytorchMetersHaveMeansOverTheEpoch) {
  const auto log = MakeLog("pytorch");
  IterationReport second = kFirst;
  second.iteration = 4;
  second.iterations = 3;
  second.seconds = 0.1;
  second.loss = 1;
  second.accuracy = 0.65;
  second.accuracy_top5 = 0.95;
  second.input_wait = 0;
  const LoggedLines logged;
  for (int epoch = 2; epoch < 4; ++epoch) {  // the second epoch starts its means anew
    log->OnEpochStart(epoch, 5);
    log->OnIteration(kFirst);
    log->OnIteration(second);
  }
  const std::vector<std::string> lines = {
      "Epoch: [2][1/4]\tTime 0.500 (0.500)\tData 0.250 (0.250)\tLoss 2.0000 (2.0000)\t"
      "Prec@1 25.000 (25.000)\tPrec@5 75.000 (75.000)",
      "Epoch: [2][4/4]\tTime 0.100 (0.200)\tData 0.000 (0.062)\tLoss 1.0000 (1.2500)\t"
      "Prec@1 65.000 (55.000)\tPrec@5 95.000 (90.000)"};
  EXPECT_EQ(logged.lines, (std::vector<std::string>{lines[0], lines[1], lines[0], lines[1]}));
}

TEST(LogStyleTest, PytorchTestsNameTheBest) {
  const auto log = MakeLog("pytorch");
  const LoggedLines logged;
  log->OnTest({.accuracy = 0.6125, .accuracy_top5 = 0.941, .best_accuracy = 0.7});
  EXPECT_EQ(logged.lines, (std::vector<std::string>{" * Prec@1 61.250 Prec@5 94.100",
                                                    "Epoch Summary: ", "\tEpoch Accuracy: 61.250",
                                                    "\tBest Accuracy: 70.000"}));
}

TEST(LogStyleTest, OtherStylesHaveTheirNames) {
  IterationReport report = kFirst;
  report.job_images_per_second = 62.21;
  const LoggedLines logged;
  MakeLog("mxnet")->OnIteration(report);
  EXPECT_EQ(logged.lines, std::vector<std::string>{"Epoch[2] Batch [1]\tSpeed: 62.21 samples/sec\t"
                                                   "Train-accuracy=0.250000"});
  MakeLog("caffe2")->OnIteration(report);
  ASSERT_EQ(logged.lines.size(), 4u);
  EXPECT_EQ(logged.lines[2], "Training loss: 2, accuracy: 0.25");
  EXPECT_THROW(MakeLog("chainer"), UsageError);
}

}  // namespace
}  // namespace caffe2
