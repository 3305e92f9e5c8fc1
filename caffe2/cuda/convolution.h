// Convolutions on a device, by cuDNN.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "caffe2/core/type_meta.h"
#include "caffe2/cuda/stream.h"

namespace caffe2::cuda {

enum class ConvDirection {
  kForward,         // x, filter -> y
  kBackwardData,    // y (its gradient), filter -> x (its gradient)
  kBackwardFilter,  // x, y (its gradient) -> filter (its gradient)
};

// One convolution. Shapes are in logical order whatever the storage, with 1 to 3 spatial axes.
struct ConvProblem {
  std::vector<int64_t> x;                                     // N, C, spatial
  std::vector<int64_t> filter;                                // M, C / groups, kernel
  std::vector<int64_t> y;                                     // N, M, spatial
  std::vector<int64_t> stride, dilation, pad_begin, pad_end;  // one entry a spatial axis
  // Storage: false is NCHW with filters M, C / groups, kernel; true NHWC with M, kernel, C /
  // groups.
  bool channels_last = false;
  TypeMeta type;  // of all three: float, float16 or bfloat16; sums are formed in float

  bool operator==(const ConvProblem&) const = default;
  std::string ToString() const;
};

// Runs it; the array that the direction writes is overwritten, or with `add` is added to. A plan is
// made once for each problem, direction and device, and kept; its workspace comes from the device's
// pool for the duration of the run. The plan is the one that cuDNN's heuristics list first; or, if
// the environment variable CAFFE2_CUDA_PLAN_CACHE names a folder, the fastest of the first eight,
// measured on the arrays of the first run that is not captured and kept there, so that later runs
// give the same bits. One that fails when it first runs is logged, and the next takes its place.
// Workspaces are at most an eighth of the device's memory, and 4 GiB. Float problems use tensor
// cores only if AllowTf32(). Thread-safe. Throws EnforceNotMet if cuDNN has no plan,
// OutOfMemoryError if the workspace does not fit.
void Convolve(ConvDirection direction, const ConvProblem& problem, const void* x,
              const void* filter, const void* y, void* result, int device, Stream stream,
              bool add = false);

// What Convolve would start from on a device described as cuDNN describes devices (JSON); needs no
// GPU.
struct ConvPlanDescription {
  int64_t engine = -1;
  int64_t workspace_bytes = 0;
  int candidates = 0;  // of which measurement would choose, at most `most`
};
ConvPlanDescription PlanConvolution(ConvDirection direction, const ConvProblem& problem,
                                    const std::string& device_json, int most = 1, bool add = false);
// The library and its version, as plans depend on it.
std::string ConvolutionLibrary();
// cuDNN's description of a device of this machine.
std::string DescribeDevice(int device);

}  // namespace caffe2::cuda
