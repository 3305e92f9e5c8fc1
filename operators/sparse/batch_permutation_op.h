// BatchPermutation: permutes the rows of a tensor.
#pragma once

#include "caffe2/core/device_backend.h"
#include "operators/common/indices.h"
#include "operators/common/row_copier.h"

namespace caffe2 {

// Reads the indices. Throws EnforceNotMet unless they name each of `count` rows once.
inline std::vector<int64_t> ReadPermutation(const Tensor& indices, int64_t count) {
  std::vector<int64_t> rows = ReadIndices(indices, count);
  std::vector<bool> seen(rows.size(), false);
  for (const int64_t row : rows) {
    CAFFE_ENFORCE(!seen[row], "row ", row, " occurs twice in the permutation");
    seen[row] = true;
  }
  return rows;
}

// Row i of the output is row indices[i] of the input. With kInverse, for the gradient, row i of the
// input becomes row indices[i] of the output. Indices on a device stay there.
template <class Context, bool kInverse>
class PermuteRowsOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using Operator<Context>::Operator;
  bool RunOnDevice() override {
    const Tensor& X = Input(kInverse ? 1 : 0);
    const auto& indices = this->template Input<Tensor>(kInverse ? 0 : 1);
    CAFFE_ENFORCE(X.dim() >= 1 && indices.dim() == 1 && indices.numel() == X.size(0),
                  "indices must have one element for each row of X: indices has shape ",
                  ShapeString(indices.sizes()), ", X ", ShapeString(X.sizes()));
    RowCopierFor<Context> rows(X, X.size(0), Output(0), &context_);
    if constexpr (Context::kDeviceType == CUDA) {
      if (indices.GetDeviceType() == CUDA) {
        rows.FinishPermuted(indices, kInverse);
        return true;
      }
    }
    Tensor copy(CPU);
    std::vector<int64_t> permutation = ReadPermutation(OnHost(indices, &copy), X.size(0));
    if (kInverse) {
      const std::vector<int64_t> forward = permutation;
      for (size_t i = 0; i < forward.size(); ++i) permutation[forward[i]] = static_cast<int64_t>(i);
    }
    for (const int64_t row : permutation) rows.Append(row);
    rows.Finish();
    return true;
  }
};
template <class Context>
using BatchPermutationOp = PermuteRowsOp<Context, false>;
template <class Context>
using BatchPermutationGradientOp = PermuteRowsOp<Context, true>;

}  // namespace caffe2
