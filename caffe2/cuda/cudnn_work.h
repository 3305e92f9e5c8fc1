// Runs graphs of cuDNN: chooses a plan once for each device, keeps it, and runs it. Included only
// by files that use cuDNN.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "caffe2/cuda/cudnn_graph.h"
#include "caffe2/cuda/stream.h"

namespace caffe2::cuda {

struct CudnnWork {
  // Identifies the graph: text with everything that it depends on, except the device and the
  // library.
  std::string key;
  std::function<CudnnDescriptor(const CudnnTarget&)> graph;
  CudnnPlanRules rules;
  // The id of the array that a run adds to, or -1, and its size. While plans are measured, other
  // memory takes its place.
  int64_t changed = -1, changed_bytes = 0;
};

// data[i] is the array of the tensor ids[i]. Not const, because cuDNN's interface takes non-const
// pointers also to arrays that it only reads.
struct CudnnArrays {
  std::vector<int64_t> ids;
  std::vector<void*> data;
};

// Runs the work on `stream`. Plan, workspace and errors are as for Convolve (convolution.h).
// Thread-safe. Throws EnforceNotMet if cuDNN has no plan, OutOfMemoryError if the workspace does
// not fit.
void RunCudnnWork(const CudnnWork& work, const CudnnArrays& arrays, int device, Stream stream);
// The same, but returns false if cuDNN has no plan that works. It remembers this, and logs it the
// first time.
bool TryCudnnWork(const CudnnWork& work, const CudnnArrays& arrays, int device, Stream stream);

size_t CudnnVersion();  // of the library that is loaded

// The plan that a described device would use first; needs no GPU.
struct ConvPlanDescription;
ConvPlanDescription DescribeCudnnWork(const CudnnWork& work, const std::string& device_json,
                                      int max_plans);

}  // namespace caffe2::cuda
