// How much memory each blob of a run takes: memory.json, and a table in the log.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "caffe2/utils/blob_memory.h"
#include "train/report.h"

namespace caffe2 {

// The memory of a training process after some iterations.
struct MemoryReport {
  struct Blob {
    BlobMemory memory;
    // parameter, statistics (running, of batch normalization), gradient (of a parameter), optimizer
    // state, activation, activation gradient, or other (input, learning rate and constants)
    std::string kind;
  };
  int64_t iteration = 0;
  std::vector<Blob> blobs;                     // the largest first
  int64_t blob_bytes = 0, distinct_bytes = 0;  // as in WorkspaceMemory
  // The peak memory of the process on each device of the run (PeakMemory); the host comes first.
  std::vector<std::pair<std::string, int64_t>> peak_bytes;

  // {"iteration": 10, "blob_bytes": ..., "distinct_bytes": ..., "peak_bytes": {"cpu": ...},
  //  "kinds": [{"kind": "parameter", "blobs": 8, "bytes": ...}, ...],
  //  "blobs": [{"name": "cpu_0/fc_w", "shape": "[10, 84]", "type": "float", "device": "cpu",
  //             "kind": "parameter", "bytes": 3360, "shared_with": 0}, ...]}
  std::string Json() const;
  // The same as lines for people, with the `most_blobs` largest blobs.
  std::vector<std::string> Lines(size_t most_blobs) const;
};

// Measures without reading values. Do not call it while a net runs.
MemoryReport MeasureRunMemory(const StartReport& run, int64_t iteration);

// After the first reported iteration, writes the table to the log if `logs`, and
// <directory>/memory.json unless `directory` is empty. If the file cannot be written, logs a
// warning.
class MemoryLog : public TrainListener {
 public:
  MemoryLog(const std::string& directory, bool logs) : directory_(directory), logs_(logs) {}

  void OnStart(const StartReport& report) override { run_ = report; }
  void OnIteration(const IterationReport& report) override;

 private:
  const std::string directory_;
  const bool logs_;
  std::optional<StartReport> run_;  // until the report is made
};

}  // namespace caffe2
