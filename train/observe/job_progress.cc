#include "train/observe/job_progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "caffe2/core/logging.h"
#include "caffe2/utils/seconds_since.h"
#include "train/options.h"

namespace caffe2 {
namespace {

using Clock = std::chrono::steady_clock;

template <typename... Args>
std::string Format(const char* format, Args... args) {
  char text[256];
  std::snprintf(text, sizeof(text), format, args...);
  return text;
}

bool ShowsBar() { return isatty(STDERR_FILENO) || LauncherShowsBar(); }

}  // namespace

std::string DurationText(double seconds) {
  const auto whole = static_cast<long long>(std::llround(std::clamp(seconds, 0.0, 1e12)));
  const long long days = whole / 86400, hours = whole / 3600 % 24, minutes = whole / 60 % 60;
  if (days > 0) return Format("%lld d %02lld:%02lld:%02lld", days, hours, minutes, whole % 60);
  if (hours > 0) return Format("%lld:%02lld:%02lld", hours, minutes, whole % 60);
  return Format("%lld:%02lld", minutes, whole % 60);
}

void JobProgress::Start(const StartReport& report) {
  num_epochs_ = report.options->schedule.num_epochs;
  num_shards_ = report.options->shards.num_shards;
  epoch_iterations_ = report.options->EpochIterations();
  max_iterations_ = report.options->schedule.max_iterations;
  started_at_ = report.total_iterations;
}

JobProgress::Estimate JobProgress::Now(const IterationReport& report, double seconds) const {
  const int64_t done = report.total_iterations;
  int64_t left = (num_epochs_ - report.epoch - 1) * epoch_iterations_ + report.epoch_iterations -
                 report.iteration;
  if (max_iterations_ > 0) left = std::min(left, max_iterations_ - done);
  left = std::max<int64_t>(left, 0);
  const auto here = static_cast<double>(std::max<int64_t>(done - started_at_, 1));
  return {Format("%.1f %%", 100.0 * static_cast<double>(done) /
                                static_cast<double>(std::max<int64_t>(done + left, 1))),
          "ETA " + DurationText(seconds / here * static_cast<double>(left))};
}

std::string JobProgress::Text(const IterationReport& report, double seconds) const {
  const Estimate now = Now(report, seconds);
  return now.percent + ", " + now.eta;
}

void JobLine::OnStart(const StartReport& report) {
  progress_.Start(report);
  start_ = logged_ = Clock::now();
}

void JobLine::OnIteration(const IterationReport& report) {
  last_ = report;
  const double seconds = report.seconds * static_cast<double>(report.iterations);
  seconds_ += seconds;
  waited_ += seconds * report.input_wait;
  // The line of a whole epoch follows at once.
  if (report.iteration == report.epoch_iterations) return;
  if (Clock::now() - logged_ < interval_) return;
  Log({report.loss, report.accuracy, report.job_images_per_second, report.input_wait});
}

void JobLine::OnEpochEnd(const EpochReport& report) {
  const auto images = static_cast<double>(report.images);
  if (last_) {
    Log({report.loss, report.accuracy, images / std::max(report.seconds, 1e-9),
         waited_ / std::max(seconds_, 1e-9)});
  }
  seconds_ = waited_ = 0;
}

void JobLine::Log(const Means& means) {
  logged_ = Clock::now();
  const int shards = progress_.num_shards();
  LOG(INFO) << Format("Job: epoch %d/%d, ", last_->epoch + 1, progress_.num_epochs())
            << progress_.Text(*last_, SecondsSince(start_))
            << Format(", loss %.4f, top-1 %.4f, %.2f images/s of %d %s, input wait %.1f %%",
                      means.loss, means.accuracy, means.images_per_second, shards,
                      shards == 1 ? "shard" : "shards", 100 * means.input_wait);
}

void ProgressBar::Show(const StatusBar& bar) {
  // A line as wide as the terminal would make some of them begin another one.
  const std::string line =
      of_launcher_ ? bar.Encode() + "\n" : "\r\033[K" + bar.Fit(TerminalWidth(STDERR_FILENO) - 1);
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
  shown_ = !bar.fields.empty();
}

void ProgressBar::Clear() {
  if (shown_) Show({});
}

void ProgressBar::OnStart(const StartReport& report) {
  progress_.Start(report);
  start_ = Clock::now();
  log_->OnStart(report);
}

void ProgressBar::OnEpochStart(int epoch, int num_epochs) {
  Clear();
  log_->OnEpochStart(epoch, num_epochs);
}

void ProgressBar::ShowReport(const IterationReport& report, bool in_log) {
  const auto [percent, eta] = progress_.Now(report, SecondsSince(start_));
  const std::string epoch = Format("epoch %d/%d", report.epoch + 1, progress_.num_epochs());
  // Ranked by what people look at first.
  const auto numbers = [](const char* format, const char* brief, double value, int rank) {
    return StatusBar::Field{Format(format, value), Format(brief, value), rank};
  };
  Show({report.iteration,
        report.epoch_iterations,
        {{epoch, epoch, 1},
         {percent, percent, 0},
         {eta, eta, 5},
         numbers("loss %.4f", "loss %.3f", report.loss, 2),
         numbers("top-1 %.4f", "top-1 %.3f", report.accuracy, 3),
         numbers("%.1f images/s", "%.0f img/s", report.job_images_per_second, 4),
         numbers("input wait %.1f %%", "wait %.0f %%", 100 * report.input_wait, 6)},
        in_log});
}

void ProgressBar::OnTest(const TestReport& report) {
  Clear();
  log_->OnTest(report);
}

void ProgressBar::OnEpochEnd(const EpochReport& report) {
  Clear();
  log_->OnEpochEnd(report);
}

void ProgressBar::OnModelSaved(const std::string& path) {
  Clear();
  log_->OnModelSaved(path);
}

std::unique_ptr<TrainListener> ForTerminal(std::unique_ptr<TrainListener> log) {
  if (!ShowsBar()) return log;
  return std::make_unique<ProgressBar>(std::move(log));
}

std::unique_ptr<TrainListener> NewJobLine() {
  // A year stands for never: the greatest duration would overflow in comparisons.
  const std::chrono::minutes interval(ShowsBar() ? 365 * 24 * 60 : 1);
  return std::make_unique<JobLine>(interval);
}

}  // namespace caffe2
