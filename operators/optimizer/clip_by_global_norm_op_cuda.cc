// ClipByGlobalNorm on CUDA devices. It does not wait for the host.
#include "caffe2/cuda/context_cuda.h"
#include "operators/optimizer/clip_by_global_norm_kernels.h"
#include "operators/optimizer/clip_by_global_norm_op.h"

namespace caffe2 {

template <>
void ClipByGlobalNorm(const std::vector<ClippedArray>& arrays, float max_norm, float* norm,
                      Tensor* scratch, CUDAContext* context) {
  const int64_t parts = static_cast<int64_t>(arrays.size()) * kSquaresParts;
  scratch->Resize(parts);
  double* sums = scratch->mutable_data<double>();
  double* next = sums;
  ForEachList<float>(arrays, [&](const ArrayList<float>& list) {
    LaunchPartialSquares(list, next, context->stream());
    next += list.count * kSquaresParts;
  });
  LaunchNorm(parts, sums, norm, context->stream());
  ForEachList<float>(arrays, [&](const ArrayList<float>& list) {
    LaunchClip(list, max_norm, norm, context->stream());
  });
}

REGISTER_CUDA_OPERATOR(ClipByGlobalNorm, ClipByGlobalNormOp<CUDAContext>);

}  // namespace caffe2
