#include "train/observe/memory_log.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/logging.h"
#include "caffe2/utils/json_text.h"
#include "train/observe/run_log_file.h"
#include "train/options.h"
#include "train/train_nets.h"

namespace caffe2 {
namespace {

constexpr double kMiB = 1 << 20;

struct KindTotal {
  int64_t blobs = 0, bytes = 0;
};

std::map<std::string, KindTotal> TotalsOf(const std::vector<MemoryReport::Blob>& blobs) {
  std::map<std::string, KindTotal> totals;
  for (const MemoryReport::Blob& blob : blobs) {
    KindTotal& total = totals[blob.kind];
    ++total.blobs;
    total.bytes += blob.memory.nbytes;
  }
  return totals;
}

// Tells the kind of a blob by the place of its name in the nets of a run.
class BlobKinds {
 public:
  explicit BlobKinds(const TrainNets& nets)
      : scopes_(nets.scopes),
        params_(nets.params.begin(), nets.params.end()),
        statistics_(nets.computed_params.begin(), nets.computed_params.end()) {
    for (const std::string& name : nets.optimizer_state) optimizer_state_.insert(Stripped(name));
    for (const OperatorDef& op : nets.train.op()) {
      const bool reads_input = op.type().find("Input") != std::string::npos;
      for (const std::string& blob : op.output()) {
        if (!reads_input && blob != nets.learning_rate) written_.insert(blob);
      }
    }
  }

  std::string Of(const std::string& blob) const {
    const std::string name = Stripped(blob);
    if (params_.count(name)) return "parameter";
    if (statistics_.count(name)) return "statistics";
    if (optimizer_state_.count(name)) return "optimizer state";
    const size_t grad = name.find("_grad");
    if (grad != std::string::npos) {
      const std::string of = name.substr(name[0] == '_' ? 1 : 0);
      return params_.count(name.substr(0, grad)) || params_.count(of.substr(0, of.find("_grad")))
                 ? "gradient"
                 : "activation gradient";
    }
    return written_.count(blob) ? "activation" : "other";
  }

 private:
  std::string Stripped(const std::string& blob) const {
    for (const std::string& scope : scopes_) {
      if (blob.compare(0, scope.size(), scope) == 0) return blob.substr(scope.size());
    }
    return blob;
  }

  const std::vector<std::string> scopes_;
  const std::set<std::string> params_, statistics_;
  std::set<std::string> optimizer_state_, written_;
};

std::string Mebibytes(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f MiB", static_cast<double>(bytes) / kMiB);
  return text;
}

std::string BlobJson(const MemoryReport::Blob& blob) {
  return JsonObject()
      .Add("name", blob.memory.name)
      .Add("shape", blob.memory.shape)
      .Add("type", blob.memory.type)
      .Add("device", blob.memory.device)
      .Add("kind", blob.kind)
      .Add("bytes", blob.memory.nbytes)
      .Add("shared_with", blob.memory.shared_with)
      .ToString();
}

}  // namespace

std::string MemoryReport::Json() const {
  std::string kinds, list;
  for (const auto& [kind, total] : TotalsOf(blobs)) {
    kinds += (kinds.empty() ? "" : ",") + JsonObject()
                                              .Add("kind", kind)
                                              .Add("blobs", total.blobs)
                                              .Add("bytes", total.bytes)
                                              .ToString();
  }
  for (const Blob& blob : blobs) list += (list.empty() ? "\n" : ",\n") + BlobJson(blob);
  JsonObject peaks;
  for (const auto& [device, bytes] : peak_bytes) peaks.Add(device, bytes);
  return JsonObject()
      .Add("iteration", iteration)
      .Add("blob_bytes", blob_bytes)
      .Add("distinct_bytes", distinct_bytes)
      .AddJson("peak_bytes", peaks.ToString())
      .AddJson("kinds", "[" + kinds + "]")
      .AddJson("blobs", "[" + list + "]")
      .ToString();
}

std::vector<std::string> MemoryReport::Lines(size_t most_blobs) const {
  std::vector<std::string> lines = {MakeString("Memory after iteration ", iteration, ": ",
                                               blobs.size(), " blobs of ", Mebibytes(blob_bytes),
                                               " in ", Mebibytes(distinct_bytes))};
  for (const auto& [device, bytes] : peak_bytes) {
    lines[0] += MakeString("; this process had at most ", Mebibytes(bytes), " on ", device);
  }
  for (const auto& [kind, total] : TotalsOf(blobs)) {
    lines.push_back(MakeString("  ", kind, ": ", Mebibytes(total.bytes), " in ", total.blobs,
                               total.blobs == 1 ? " blob" : " blobs"));
  }
  const size_t shown = std::min(most_blobs, blobs.size());
  lines.push_back(MakeString("  The ", shown, " largest:"));
  for (size_t i = 0; i < shown; ++i) {
    const BlobMemory& blob = blobs[i].memory;
    lines.push_back(MakeString("  ", Mebibytes(blob.nbytes), "  ", blob.name, " ", blob.type, " ",
                               blob.shape, ", ", blobs[i].kind));
    if (blob.shared_with > 0) {
      lines.back() += MakeString(", shares memory with ", blob.shared_with, " others");
    }
  }
  return lines;
}

MemoryReport MeasureRunMemory(const StartReport& run, int64_t iteration) {
  const WorkspaceMemory memory = MeasureMemory(*run.workspace);
  const BlobKinds kinds(*run.nets);
  MemoryReport report;
  report.iteration = iteration;
  report.blob_bytes = memory.blob_bytes;
  report.distinct_bytes = memory.distinct_bytes;
  for (const BlobMemory& blob : memory.blobs) report.blobs.push_back({blob, kinds.Of(blob.name)});
  report.peak_bytes.emplace_back(Device{}.ToString(), static_cast<int64_t>(PeakMemory(Device{})));
  for (const Device& device : run.options->devices) {
    if (device.type == CPU) continue;
    report.peak_bytes.emplace_back(device.ToString(), static_cast<int64_t>(PeakMemory(device)));
  }
  return report;
}

void MemoryLog::OnIteration(const IterationReport& report) {
  if (!run_) return;
  const MemoryReport memory = MeasureRunMemory(*run_, report.total_iterations);
  run_.reset();
  if (logs_) {
    constexpr size_t kMaxBlobs = 20;
    for (const std::string& line : memory.Lines(kMaxBlobs)) LOG(INFO) << line;
  }
  if (!directory_.empty()) WriteRunFile(directory_ + "/memory.json", memory.Json() + "\n");
}

}  // namespace caffe2
