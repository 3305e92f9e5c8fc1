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

// One convolution. Shapes are in logical order, whatever the storage order, with 1 to 3 spatial
// axes.
struct ConvProblem {
  std::vector<int64_t> x;                                     // N, C, spatial
  std::vector<int64_t> filter;                                // M, C / groups, kernel
  std::vector<int64_t> y;                                     // N, M, spatial
  std::vector<int64_t> stride, dilation, pad_begin, pad_end;  // one entry for each spatial axis
  // Storage order. False: NCHW, filters M, C / groups, kernel. True: NHWC, filters M, kernel, C /
  // groups.
  bool channels_last = false;
  TypeMeta type;  // of x, filter and y: float, float16 or bfloat16; sums are in float

  bool operator==(const ConvProblem&) const = default;
  std::string ToString() const;
};

// Runs the convolution on `stream`. The direction says which of the three arrays `result` is. It is
// overwritten or, with `add`, added to.
//
// Plans: each problem, direction and device gets one plan, which is kept for the life of the
// process. By default it is the first plan in the order of cuDNN's heuristics. If the environment
// variable CAFFE2_CUDA_PLAN_CACHE names a folder, the first run reads the plan from there. If there
// is none, it measures the first eight plans on its arrays and keeps the fastest in the folder, so
// that later runs give the same bits. A first run that is recorded (graph.h) cannot measure, so it
// takes the first plan. If a plan fails when it first runs, that is logged and the next plan takes
// its place; in a recording it throws.
//
// The workspace comes from the device's pool while the convolution runs. It takes at most 4 GiB,
// and at most an eighth of the device's memory. Float problems use tensor cores only if
// AllowTf32(). Thread-safe. Throws EnforceNotMet if cuDNN has no plan, OutOfMemoryError if the
// workspace does not fit, and Error for other errors of cuDNN.
void Convolve(ConvDirection direction, const ConvProblem& problem, const void* x,
              const void* filter, const void* y, void* result, int device, Stream stream,
              bool add = false);

// The plan that Convolve would use first on a device. `device_json` describes the device in cuDNN's
// format (see DescribeDevice), so that this needs no GPU.
struct ConvPlanDescription {
  int64_t engine = -1;
  int64_t workspace_bytes = 0;
  int candidates = 0;  // plans that measurement would choose from, at most `max_plans`
};
ConvPlanDescription PlanConvolution(ConvDirection direction, const ConvProblem& problem,
                                    const std::string& device_json, int max_plans = 1,
                                    bool add = false);
// cuDNN's description, in JSON, of a device of this machine.
std::string DescribeDevice(int device);

}  // namespace caffe2::cuda
