#include "train/log.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/logging.h"
#include "caffe2/utils/write_count.h"
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

// The columns of the CSV file: names and values of a row.
using CsvColumns = std::vector<std::pair<const char*, std::string>>;

CsvColumns ColumnsOf(const EpochReport& report, double cumulative_seconds,
                     int64_t cumulative_images) {
  const double speed = static_cast<double>(report.images) / std::max(report.seconds, 1e-9);
  return {{"time_spent", Format("%.6g", report.seconds)},
          {"cumulative_time_spent", Format("%.6g", cumulative_seconds)},
          {"input_count", MakeString(report.images)},
          {"cumulative_input_count", MakeString(cumulative_images)},
          {"cumulative_batch_count", MakeString(report.total_iterations)},
          {"inputs_per_sec", Format("%.6g", speed)},
          {"accuracy", Format("%.9g", report.accuracy)},
          {"epoch", MakeString(report.epoch)},
          {"learning_rate", Format("%.9g", report.learning_rate)},
          {"loss", Format("%.9g", report.loss)},
          {"test_accuracy", Format("%.9g", report.test_accuracy)}};
}

std::string CsvHeader() {
  std::string line;
  for (const auto& [name, value] : ColumnsOf({}, 0, 0))
    line += (line.empty() ? "" : ",") + std::string(name);
  return line + "\n";
}

std::string CsvRow(const CsvColumns& columns) {
  std::string line;
  for (const auto& [name, value] : columns) line += (line.empty() ? "" : ",") + value;
  return line + "\n";
}

// The numbers of a row by the names of their columns; empty if some are missing.
std::map<std::string, double> NumbersOf(const std::string& row) {
  std::map<std::string, double> numbers;
  const char* at = row.c_str();
  for (const auto& [name, value] : ColumnsOf({}, 0, 0)) {
    char* end = nullptr;
    numbers[name] = std::strtod(at, &end);
    if (end == at) return {};
    at = *end == ',' ? end + 1 : end;
  }
  return numbers;
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
    Write("# " + description + "\n" + CsvHeader());
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
  auto numbers = NumbersOf(rows.substr(last));
  if (!numbers.empty()) {
    log->cumulative_seconds_ = numbers["cumulative_time_spent"];
    log->cumulative_images_ = static_cast<int64_t>(numbers["cumulative_input_count"]);
    log->last_epoch_ = static_cast<int>(numbers["epoch"]);
  }
  return log;
}

void CsvLog::Write(const std::string& line) {
  if (std::fputs(line.c_str(), file_.get()) < 0 || std::fflush(file_.get()) != 0) {
    ThrowIoError(ExitCode::kCannotWrite, "cannot write ", path_, ": ", std::strerror(errno));
  }
  CountWrite();
}

void CsvLog::OnEpochEnd(const EpochReport& report) {
  if (report.epoch <= last_epoch_) return;
  cumulative_seconds_ += report.seconds;
  cumulative_images_ += report.images;
  Write(CsvRow(ColumnsOf(report, cumulative_seconds_, cumulative_images_)));
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
