#include "caffe2/cuda/convolution.h"

#include "caffe2/cuda/cudnn_operations.h"
#include "caffe2/cuda/cudnn_work.h"
#include "caffe2/cuda/matmul.h"

namespace caffe2::cuda {
namespace {

constexpr int64_t kX = 1, kFilter = 2, kY = 3;  // ids of the arrays

CudnnWork WorkOf(ConvDirection direction, const ConvProblem& problem, int64_t alignment) {
  CudnnWork work;
  work.key = MakeString(NameOf(direction), " ", problem.ToString(), " aligned to ", alignment);
  work.graph = [=](const CudnnTarget& target) {
    CudnnOperations operations(problem, alignment);
    operations.Convolve(direction, operations.Array(kX, problem.x),
                        operations.Array(kFilter, problem.filter), operations.Array(kY, problem.y));
    return operations.Graph(target);
  };
  work.rules.tensor_cores = !problem.type.Match<float>() || AllowTf32();
  return work;
}

}  // namespace

void Convolve(ConvDirection direction, const ConvProblem& problem, const void* x,
              const void* filter, const void* y, void* result, int device, Stream stream) {
  CudnnArrays arrays{
      {kX, kFilter, kY},
      {const_cast<void*>(x), const_cast<void*>(filter), const_cast<void*>(y)},
  };
  arrays.data[direction == ConvDirection::kForward        ? 2
              : direction == ConvDirection::kBackwardData ? 0
                                                          : 1] = result;
  const int64_t alignment = AlignmentOf(arrays.data, problem.type);
  RunCudnnWork(WorkOf(direction, problem, alignment), arrays, device, stream);
}

ConvPlanDescription PlanConvolution(ConvDirection direction, const ConvProblem& problem,
                                    const std::string& device_json, int most) {
  return DescribeCudnnWork(WorkOf(direction, problem, kFullAlignment), device_json, most);
}

std::string DescribeDevice(int device) { return CudnnDeviceJson(device); }

}  // namespace caffe2::cuda
