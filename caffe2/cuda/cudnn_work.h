// Work of cuDNN: plans are chosen once for each device, kept, and run. Only for what is built on
// cuDNN.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "caffe2/cuda/cudnn_graph.h"
#include "caffe2/cuda/stream.h"

namespace caffe2::cuda {

struct CudnnWork {
  // Says in words everything that the graph depends on, but for the device and the library.
  std::string key;
  std::function<CudnnDescriptor(const CudnnTarget&)> graph;
  CudnnPlanRules rules;
  // The array that a run adds to, if any, and its size: plans are measured with other memory in its
  // place.
  int64_t changed = -1, changed_bytes = 0;
};

// Arrays by the ids of their tensors. The library's interface takes pointers to what it only reads
// without const.
struct CudnnArrays {
  std::vector<int64_t> ids;
  std::vector<void*> data;
};

// Runs it, by a plan that is chosen as convolution.h says of Convolve; the workspace comes from the
// device's pool for the duration of the run. Thread-safe. Throws EnforceNotMet if cuDNN has no
// plan, OutOfMemoryError if the workspace does not fit.
void RunCudnnWork(const CudnnWork& work, const CudnnArrays& arrays, int device, Stream stream);
// The same, but returns false where cuDNN has no plan that works: logged the first time, remembered
// after.
bool TryCudnnWork(const CudnnWork& work, const CudnnArrays& arrays, int device, Stream stream);

size_t CudnnVersion();  // of the library that is loaded

// The plans to choose from, as they would be on a described device; needs no GPU.
struct ConvPlanDescription;
ConvPlanDescription DescribeCudnnWork(const CudnnWork& work, const std::string& device_json,
                                      int most);

}  // namespace caffe2::cuda
