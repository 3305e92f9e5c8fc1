// CopyRowsToTensor and its gradient on CUDA devices.
#include "operators/common/checked_indices.h"
#include "operators/sparse/copy_rows_to_tensor_op.h"
#include "operators/sparse/indexed_rows_cuda.h"

namespace caffe2 {

static void AssignToRows(const Tensor& indices, int64_t rows, TypeMeta meta, int64_t width,
                         const void* x, void* y, CUDAContext* context) {
  const auto bytes = width * static_cast<int64_t>(meta.itemsize());
  const RowIndices list = CheckedIndices(indices, rows, context);
  WithWordOfRows(x, y, bytes, [&](auto word) {
    using Word = decltype(word);
    const auto words = bytes / static_cast<int64_t>(sizeof(Word));
    ForEachRow(list.n, words,
               SetRows<Word>{list, words, static_cast<const Word*>(x), static_cast<Word*>(y)},
               context);
  });
}

REGISTER_CUDA_OPERATOR(CopyRowsToTensor, CopyRowsToTensorOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(CopyRowsToTensorGradient, CopyRowsToTensorGradientOp<CUDAContext>);

}  // namespace caffe2
