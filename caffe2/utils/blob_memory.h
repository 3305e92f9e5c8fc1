// How much memory the tensors of a workspace hold, and which of them share it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "caffe2/core/workspace.h"

namespace caffe2 {

struct BlobMemory {
  std::string name;
  std::string shape;    // "[2, 3]"
  std::string type;     // "float"
  std::string device;   // "cpu", "cuda:0"
  int64_t nbytes = 0;   // of its values
  int shared_with = 0;  // how many other blobs overlap its memory
};

struct WorkspaceMemory {
  std::vector<BlobMemory> blobs;  // plain and quantized tensors with values, the largest first
  int64_t blob_bytes = 0;         // sum of nbytes
  // The bytes that at least one blob uses, each counted once: blob_bytes minus the bytes that
  // sharing saves, for instance a memory plan.
  int64_t distinct_bytes = 0;
};

// Measures the tensors of the workspace and of its parents. Reads no values. Strings count without
// their text. Must not be called while a net runs.
WorkspaceMemory MeasureMemory(const Workspace& ws);

}  // namespace caffe2
