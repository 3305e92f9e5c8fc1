// The memory of a run by blob, from memory.json of --log_dir (train/observe/memory_log.h), and the
// part of a page about it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace caffe2::report {

struct Memory {
  struct Kind {
    std::string name;
    double blobs = 0, bytes = 0;
  };
  struct Blob {
    std::string name, shape, type, kind;
    double bytes = 0, shared_with = 0;
  };
  double iteration = 0, blob_bytes = 0, distinct_bytes = 0;
  std::vector<std::pair<std::string, double>> peak_bytes;  // by device
  std::vector<Kind> kinds;                                 // the largest first
  std::vector<Blob> blobs;                                 // the largest first
};

// nullopt without such a file in the directory. Throws IoError for a damaged one.
std::optional<Memory> ReadMemory(const std::string& directory);

std::string MemoryHtml(const Memory& memory);

}  // namespace caffe2::report
