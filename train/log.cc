#include "train/log.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/logging.h"
#include "train/atomic_file.h"

namespace caffe2 {
namespace {

template <typename... Args>
std::string Format(const char* format, Args... args) {
  const int size = std::snprintf(nullptr, 0, format, args...);
  std::string text(static_cast<size_t>(size) + 1, '\0');
  std::snprintf(text.data(), text.size(), format, args...);
  text.pop_back();
  return text;
}

}  // namespace

void Caffe2Log::OnEpochStart(int epoch, int num_epochs) {
  LOG(INFO) << "Starting epoch " << epoch << "/" << num_epochs;
}

void Caffe2Log::OnIteration(const IterationReport& report) {
  LOG(INFO) << Format("Finished iteration %lld/%lld of epoch %d (%.2f images/sec)",
                      static_cast<long long>(report.iteration),
                      static_cast<long long>(report.epoch_iterations), report.epoch,
                      report.images_per_second);
  LOG(INFO) << Format("Training loss: %.6g, accuracy: %.6g", report.loss, report.accuracy);
  LOG(INFO) << Format("All shards: %.2f images/sec, top-5 accuracy: %.6g, input wait: %.1f %%",
                      report.job_images_per_second, report.accuracy_top5, 100 * report.input_wait);
}

void Caffe2Log::OnTest(const TestReport& report) {
  LOG(INFO) << Format(
      "Test accuracy after epoch %d: %.6g, top-5: %.6g, loss: %.6g (%lld images, %.2f images/sec)",
      report.epoch, report.accuracy, report.accuracy_top5, report.loss,
      static_cast<long long>(report.images),
      static_cast<double>(report.images) / std::max(report.seconds, 1e-9));
}

void Caffe2Log::OnEpochEnd(const EpochReport& report) {
  LOG(INFO) << Format("Finished epoch %d/%d in %.2f s: loss: %.6g, accuracy: %.6g", report.epoch,
                      report.num_epochs, report.seconds, report.loss, report.accuracy);
}

void Caffe2Log::OnModelSaved(const std::string& path) { LOG(INFO) << "Saved model to " << path; }

void MxnetLog::OnIteration(const IterationReport& report) {
  LOG(INFO) << Format("Epoch[%d] Batch [%lld]\tSpeed: %.2f samples/sec\tTrain-accuracy=%f",
                      report.epoch, static_cast<long long>(report.iteration),
                      report.job_images_per_second, report.accuracy);
}

void MxnetLog::OnTest(const TestReport& report) {
  LOG(INFO) << Format("Epoch[%d] Validation-accuracy=%f", report.epoch, report.accuracy);
}

void MxnetLog::OnEpochEnd(const EpochReport& report) {
  LOG(INFO) << Format("Epoch[%d] Train-accuracy=%f", report.epoch, report.accuracy);
  LOG(INFO) << Format("Epoch[%d] Time cost=%.3f", report.epoch, report.seconds);
}

void MxnetLog::OnModelSaved(const std::string& path) {
  LOG(INFO) << "Saved checkpoint to \"" << path << "\"";
}

CsvLog::CsvLog(const std::string& path, const std::string& description)
    : path_(path), file_(std::fopen(path.c_str(), "w")) {
  if (!file_)
    ThrowIoError(ExitCode::kCannotWrite, "cannot write ", path, ": ", std::strerror(errno));
  try {
    Write(
        "# " + description + "\n" +
        "time_spent,cumulative_time_spent,input_count,cumulative_input_count,"
        "cumulative_batch_count,inputs_per_sec,accuracy,epoch,learning_rate,loss,test_accuracy\n");
  } catch (const IoError&) {
    // Without its header the file is useless. A path that is not a file (a device) stays.
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored)) std::filesystem::remove(path, ignored);
    throw;
  }
}

CsvLog::CsvLog(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "ae")) {
  if (!file_)
    ThrowIoError(ExitCode::kCannotWrite, "cannot write ", path, ": ", std::strerror(errno));
}

std::unique_ptr<CsvLog> CsvLog::GoOn(const std::string& path, const std::string& description) {
  LOG(INFO) << "The rows of the epochs go on in " << path;
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown)) return std::make_unique<CsvLog>(path, description);
  std::string rows;
  if (std::filesystem::is_regular_file(path, unknown)) {
    std::ifstream before(path, std::ios::binary);
    rows.assign(std::istreambuf_iterator<char>(before), {});
    rows.resize(rows.rfind('\n') + 1);  // without a row that was cut off
    WriteWholeFile(path, rows);
  }
  std::unique_ptr<CsvLog> log(new CsvLog(path));
  const size_t last = rows.size() < 2 ? 0 : rows.rfind('\n', rows.size() - 2) + 1;
  double seconds = 0;
  long long images = 0;
  int epoch = 0;
  if (std::sscanf(rows.c_str() + last, "%*g,%lg,%*d,%lld,%*d,%*g,%*g,%d", &seconds, &images,
                  &epoch) == 3) {
    log->cumulative_seconds_ = seconds;
    log->cumulative_images_ = images;
    log->last_epoch_ = epoch;
  }
  return log;
}

void CsvLog::Write(const std::string& line) {
  if (std::fputs(line.c_str(), file_.get()) < 0 || std::fflush(file_.get()) != 0) {
    ThrowIoError(ExitCode::kCannotWrite, "cannot write ", path_, ": ", std::strerror(errno));
  }
}

void CsvLog::OnEpochEnd(const EpochReport& report) {
  if (report.epoch <= last_epoch_) return;
  cumulative_seconds_ += report.seconds;
  cumulative_images_ += report.images;
  Write(Format("%.6g,%.6g,%lld,%lld,%lld,%.6g,%.9g,%d,%.9g,%.9g,%.9g\n", report.seconds,
               cumulative_seconds_, static_cast<long long>(report.images),
               static_cast<long long>(cumulative_images_),
               static_cast<long long>(report.total_iterations),
               static_cast<double>(report.images) / std::max(report.seconds, 1e-9), report.accuracy,
               report.epoch, report.learning_rate, report.loss, report.test_accuracy));
}

std::string CsvFileName(const std::string& experiment) {
  const std::time_t now = std::time(nullptr);
  std::tm local = {};
  localtime_r(&now, &local);
  char stamp[32];
  std::strftime(stamp, sizeof(stamp), "%Y%m%d_%H%M%S", &local);
  return experiment + "_" + stamp + ".log";
}

}  // namespace caffe2
