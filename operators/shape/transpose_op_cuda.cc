// Transpose on CUDA devices.
#include "caffe2/cuda/context_cuda.h"
#include "operators/shape/transpose_kernels.h"
#include "operators/shape/transpose_op.h"

namespace caffe2 {

template <>
void TransposeOp<CUDAContext>::Permute(const std::vector<int64_t>& dims,
                                       const std::vector<int>& axes, size_t itemsize, const void* x,
                                       void* y) {
  const auto n = static_cast<int>(dims.size());
  CAFFE_ENFORCE(n <= Permutation::kMaxDims, "at most ", Permutation::kMaxDims,
                " axes can be transposed on CUDA devices, found ", n);
  const int64_t numel = CheckedNumel(dims);
  if (numel == 0) return;
  // Swapping the last two dimensions is common and has a fast kernel.
  bool matrices = n >= 2 && axes.back() == n - 2;
  for (int i = 0; i + 2 < n; ++i) matrices = matrices && axes[i] == i;
  if (matrices) {
    const int64_t rows = dims[n - 2], columns = dims[n - 1];
    LaunchTransposeMatrices(numel / (rows * columns), rows, columns, itemsize, x, y,
                            context_.stream());
    return;
  }
  Permutation permutation;
  permutation.dims = n;
  for (int i = 0; i < n; ++i) {
    permutation.size[i] = dims[axes[i]];
    permutation.stride[i] = CheckedNumel(dims.data() + axes[i] + 1, n - axes[i] - 1);
  }
  LaunchPermute(permutation, numel, itemsize, x, y, context_.stream());
}

REGISTER_CUDA_OPERATOR(Transpose, TransposeOp<CUDAContext>);

}  // namespace caffe2
