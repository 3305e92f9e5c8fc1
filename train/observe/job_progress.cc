#include "train/observe/job_progress.h"

#include <sys/ioctl.h>
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

// Characters in a row of the terminal of stderr; 0 if it does not tell.
size_t TerminalWidth() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

std::string DurationText(double seconds) {
  const auto whole = static_cast<long long>(std::llround(std::clamp(seconds, 0.0, 1e12)));
  const long long days = whole / 86400, hours = whole / 3600 % 24, minutes = whole / 60 % 60;
  if (days > 0) return Format("%lld d %02lld:%02lld:%02lld", days, hours, minutes, whole % 60);
  if (hours > 0) return Format("%lld:%02lld:%02lld", hours, minutes, whole % 60);
  return Format("%lld:%02lld", minutes, whole % 60);
}

std::string BarText(int64_t done, int64_t total, int width) {
  const int64_t filled =
      total > 0 ? std::clamp<int64_t>(done * width / total, 0, width) : int64_t{width};
  return "[" + std::string(static_cast<size_t>(filled), '#') +
         std::string(static_cast<size_t>(width - filled), ' ') + "]";
}

void JobProgress::Start(const StartReport& report) {
  num_epochs_ = report.options->schedule.num_epochs;
  num_shards_ = report.options->shards.num_shards;
  epoch_iterations_ = report.options->EpochIterations();
  max_iterations_ = report.options->schedule.max_iterations;
  started_at_ = report.total_iterations;
}

std::string JobProgress::Text(const IterationReport& report, double seconds) const {
  const int64_t done = report.total_iterations;
  int64_t left = (num_epochs_ - report.epoch - 1) * epoch_iterations_ + report.epoch_iterations -
                 report.iteration;
  if (max_iterations_ > 0) left = std::min(left, max_iterations_ - done);
  left = std::max<int64_t>(left, 0);
  const auto here = static_cast<double>(std::max<int64_t>(done - started_at_, 1));
  return Format("%.1f %%, ETA ", 100.0 * static_cast<double>(done) /
                                     static_cast<double>(std::max<int64_t>(done + left, 1))) +
         DurationText(seconds / here * static_cast<double>(left));
}

void JobLine::OnStart(const StartReport& report) {
  progress_.Start(report);
  start_ = logged_ = Clock::now();
}

void JobLine::OnIteration(const IterationReport& report) {
  last_ = report;
  // The line of a whole epoch follows at once.
  if (report.iteration == report.epoch_iterations) return;
  if (Clock::now() - logged_ >= interval_) Log(report.loss, report.accuracy);
}

void JobLine::OnEpochEnd(const EpochReport& report) {
  if (last_) Log(report.loss, report.accuracy);
}

void JobLine::Log(double loss, double accuracy) {
  logged_ = Clock::now();
  const int shards = progress_.num_shards();
  LOG(INFO) << Format("Job: epoch %d/%d, ", last_->epoch + 1, progress_.num_epochs())
            << progress_.Text(*last_, SecondsSince(start_))
            << Format(", loss %.4f, top-1 %.4f, %.2f images/s of %d %s, input wait %.1f %%", loss,
                      accuracy, last_->job_images_per_second, shards,
                      shards == 1 ? "shard" : "shards", 100 * last_->input_wait);
}

void ProgressBar::Clear() {
  if (!shown_) return;
  std::fputs("\r\033[K", stderr);
  shown_ = false;
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

// A line that is longer than the terminal would leave a copy of itself each time.
void ProgressBar::OnIteration(const IterationReport& report) {
  std::string line =
      Format("epoch %d/%d ", report.epoch + 1, progress_.num_epochs()) +
      BarText(report.iteration, report.epoch_iterations, 20) + " " +
      progress_.Text(report, SecondsSince(start_)) +
      Format(", loss %.4f, top-1 %.4f, %.1f images/s, input wait %.1f %%", report.loss,
             report.accuracy, report.job_images_per_second, 100 * report.input_wait);
  const size_t width = TerminalWidth();
  if (width > 1) line.resize(std::min(line.size(), width - 1));
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
  shown_ = true;
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
  if (!isatty(STDERR_FILENO)) return log;
  return std::make_unique<ProgressBar>(std::move(log));
}

std::unique_ptr<TrainListener> NewJobLine() {
  // A year stands for never: the greatest duration would overflow in comparisons.
  const std::chrono::minutes interval(isatty(STDERR_FILENO) ? 365 * 24 * 60 : 1);
  return std::make_unique<JobLine>(interval);
}

}  // namespace caffe2
