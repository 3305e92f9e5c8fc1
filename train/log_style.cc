#include "train/log_style.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "caffe2/core/logging.h"
#include "caffe2/core/usage_error.h"
#include "train/log.h"

namespace caffe2 {
namespace {

constexpr double kPercent = 100;

std::string Fixed(double value, int digits = 3) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}

// "\tLoss 2.1021 (2.2043)": the value of a meter and its mean.
std::string Meter(const char* name, double value, double mean, int digits = 3) {
  return MakeString("\t", name, " ", Fixed(value, digits), " (", Fixed(mean, digits), ")");
}

}  // namespace

void PytorchLog::OnEpochStart(int /*epoch*/, int /*num_epochs*/) {
  sums_ = {};
  iterations_ = 0;
}

void PytorchLog::OnIteration(const IterationReport& report) {
  const auto n = static_cast<double>(report.iterations);
  iterations_ += report.iterations;
  const Meters now = {.seconds = report.seconds,
                      .data_seconds = report.seconds * report.input_wait,
                      .loss = report.loss,
                      .top1 = kPercent * report.accuracy,
                      .top5 = kPercent * report.accuracy_top5};
  sums_.seconds += n * now.seconds;
  sums_.data_seconds += n * now.data_seconds;
  sums_.loss += n * now.loss;
  sums_.top1 += n * now.top1;
  sums_.top5 += n * now.top5;
  const auto all = static_cast<double>(iterations_);
  LOG(INFO) << "Epoch: [" << report.epoch << "][" << report.iteration << "/"
            << report.epoch_iterations << "]" << Meter("Time", now.seconds, sums_.seconds / all)
            << Meter("Data", now.data_seconds, sums_.data_seconds / all)
            << Meter("Loss", now.loss, sums_.loss / all, 4)
            << Meter("Prec@1", now.top1, sums_.top1 / all)
            << Meter("Prec@5", now.top5, sums_.top5 / all);
}

void PytorchLog::OnTest(const TestReport& report) {
  LOG(INFO) << " * Prec@1 " << Fixed(kPercent * report.accuracy) << " Prec@5 "
            << Fixed(kPercent * report.accuracy_top5);
  LOG(INFO) << "Epoch Summary: ";
  LOG(INFO) << "\tEpoch Accuracy: " << Fixed(kPercent * report.accuracy);
  LOG(INFO) << "\tBest Accuracy: " << Fixed(kPercent * report.best_accuracy);
}

void PytorchLog::OnModelSaved(const std::string& path) { LOG(INFO) << "Saved model to " << path; }

std::unique_ptr<TrainListener> MakeLog(const std::string& style) {
  if (style == "caffe2") return std::make_unique<Caffe2Log>();
  if (style == "mxnet") return std::make_unique<MxnetLog>();
  if (style == "pytorch") return std::make_unique<PytorchLog>();
  ThrowUsage("--log_style is ", style, "; known: caffe2 mxnet pytorch");
}

}  // namespace caffe2
