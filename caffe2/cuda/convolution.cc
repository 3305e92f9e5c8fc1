#include "caffe2/cuda/convolution.h"

#include <functional>
#include <numeric>

#include "caffe2/cuda/cudnn_operations.h"
#include "caffe2/cuda/cudnn_work.h"
#include "caffe2/cuda/matmul.h"

namespace caffe2::cuda {
namespace {

constexpr int64_t kX = 1, kFilter = 2, kY = 3;  // ids of the arrays

// The array that a direction writes.
int64_t ResultOf(ConvDirection direction) {
  return direction == ConvDirection::kForward        ? kY
         : direction == ConvDirection::kBackwardData ? kX
                                                     : kFilter;
}

int64_t BytesOf(ConvDirection direction, const ConvProblem& problem) {
  const auto& dims = direction == ConvDirection::kForward        ? problem.y
                     : direction == ConvDirection::kBackwardData ? problem.x
                                                                 : problem.filter;
  return std::accumulate(dims.begin(), dims.end(), static_cast<int64_t>(problem.type.itemsize()),
                         std::multiplies<>());
}

CudnnWork WorkOf(ConvDirection direction, const ConvProblem& problem, int64_t alignment, bool add) {
  CudnnWork work;
  work.key = MakeString(NameOf(direction), add ? " added to it " : " ", problem.ToString(),
                        " aligned to ", alignment);
  if (add) {
    work.changed = ResultOf(direction);
    work.changed_bytes = BytesOf(direction, problem);
  }
  work.graph = [=](const CudnnTarget& target) {
    CudnnOperations operations(problem, alignment);
    operations.Convolve(direction, operations.Array(kX, problem.x),
                        operations.Array(kFilter, problem.filter), operations.Array(kY, problem.y),
                        add);
    return operations.Graph(target);
  };
  work.rules.tensor_cores = !problem.type.Match<float>() || AllowTf32();
  return work;
}

}  // namespace

void Convolve(ConvDirection direction, const ConvProblem& problem, const void* x,
              const void* filter, const void* y, void* result, int device, Stream stream,
              bool add) {
  CudnnArrays arrays{
      {kX, kFilter, kY},
      {const_cast<void*>(x), const_cast<void*>(filter), const_cast<void*>(y)},
  };
  for (size_t i = 0; i < arrays.ids.size(); ++i) {
    if (arrays.ids[i] == ResultOf(direction)) arrays.data[i] = result;
  }
  const int64_t alignment = AlignmentOf(arrays.data, problem.type);
  RunCudnnWork(WorkOf(direction, problem, alignment, add), arrays, device, stream);
}

ConvPlanDescription PlanConvolution(ConvDirection direction, const ConvProblem& problem,
                                    const std::string& device_json, int max_plans, bool add) {
  return DescribeCudnnWork(WorkOf(direction, problem, kFullAlignment, add), device_json, max_plans);
}

std::string DescribeDevice(int device) { return CudnnDeviceJson(device); }

}  // namespace caffe2::cuda
