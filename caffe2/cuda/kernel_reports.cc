#include "caffe2/cuda/kernel_reports.h"

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "caffe2/core/device_waits.h"
#include "caffe2/core/logging.h"

namespace caffe2::cuda {
namespace {

std::map<int32_t, void (*)(const KernelReport&)>& FurtherReports() {
  static auto* reports = new std::map<int32_t, void (*)(const KernelReport&)>;
  return *reports;
}

// Throws EnforceNotMet with the same text as the CPU operators.
void ThrowReport(const KernelReport& report) {
  switch (report.kind) {
    case KernelReport::kLabelOutOfRange:
      CAFFE_THROW("label ", report.label, " of row ", report.row, " is out of range for ",
                  report.classes, " classes");
    case KernelReport::kDivisionByZero:
      CAFFE_THROW("integer division by zero at element ", report.row);
    case KernelReport::kLabelSum:
      CAFFE_THROW("label probabilities of row ", report.row, " add up to ", report.value,
                  ", not 1");
    case KernelReport::kNegativeLabel:
      CAFFE_THROW("a label probability of row ", report.row, " is negative");
    case KernelReport::kIndexOutOfRange:
      CAFFE_THROW("index ", static_cast<int64_t>(report.value), " at position ", report.row,
                  " is out of range for ", report.classes, " rows");
    case KernelReport::kLengths:
      CAFFE_ENFORCE(report.label >= 0, "length ", report.row, " must not be negative");
      CAFFE_THROW("the lengths must add up to the ", report.classes, " entries, but add up to ",
                  report.row);
    default:
      if (const auto found = FurtherReports().find(report.kind); found != FurtherReports().end()) {
        return found->second(report);
      }
      CAFFE_THROW("a kernel reported an error of unknown kind ", report.kind);
  }
}

// For example "operator Gather with output rows". All steps of a recurrent network share a name.
std::string NameOf(const OperatorBase& op) {
  const OperatorDef& def = op.debug_def();
  if (!def.name().empty()) return MakeString("operator ", def.type(), " ", def.name());
  return MakeString("operator ", def.type(), " with output ",
                    def.output_size() == 0 ? "" : def.output(0));
}

struct Owners {
  std::mutex mutex;
  std::map<std::string, int> reports;  // index of each name's report, from 1
};
Owners& OwnersOf(int device) {
  static std::mutex mutex;
  static auto* owners = new std::map<int, Owners>;
  std::lock_guard<std::mutex> lock(mutex);
  return (*owners)[device];
}

}  // namespace

void RegisterReport(KernelReport::Kind kind, void (*throw_report)(const KernelReport& report)) {
  FurtherReports()[kind] = throw_report;
}

KernelReport* ReportOf(int device) {
  KernelReport* reports = ReportsOf(device);
  const OperatorBase* op = StartedOperator();
  if (op == nullptr) return reports;
  Owners& owners = OwnersOf(device);
  std::lock_guard<std::mutex> lock(owners.mutex);
  const int next = static_cast<int>(owners.reports.size()) + 1;
  if (next == kReports) {
    const auto found = owners.reports.find(NameOf(*op));
    return found == owners.reports.end() ? reports : reports + found->second;
  }
  return reports + owners.reports.emplace(NameOf(*op), next).first->second;
}

void ThrowReports(int device) {
  KernelReport* reports = ReportsOf(device);
  Owners& owners = OwnersOf(device);
  std::unique_lock<std::mutex> lock(owners.mutex);
  KernelReport found = std::exchange(reports[0], {});
  std::string name;
  for (const auto& [owner, i] : owners.reports) {
    if (reports[i].kind == KernelReport::kNone) continue;
    const KernelReport report = std::exchange(reports[i], {});
    if (found.kind != KernelReport::kNone) {
      LOG(ERROR) << owner << " also reports an error";
      continue;
    }
    found = report;
    name = owner;
  }
  lock.unlock();
  if (found.kind == KernelReport::kNone) return;
  try {
    ThrowReport(found);
  } catch (Error& error) {
    if (!name.empty()) error.AddContext(name);
    throw;
  }
}

}  // namespace caffe2::cuda
