// BatchPermutation: the rows of a tensor in another order. The indices are read on the host.
#pragma once

#include "caffe2/core/device_backend.h"
#include "operators/indices.h"
#include "operators/row_copier.h"

namespace caffe2 {

// The indices, which must name each row of X once.
inline std::vector<int64_t> ReadPermutation(const Tensor& X, const Tensor& on_any_device) {
  Tensor copy(CPU);
  const Tensor& indices = OnHost(on_any_device, &copy);
  CAFFE_ENFORCE(X.dim() >= 1 && indices.dim() == 1 && indices.numel() == X.size(0), "indices ",
                ShapeString(indices.sizes()), " for the rows of ", ShapeString(X.sizes()));
  std::vector<int64_t> rows = ReadIndices(indices, X.size(0));
  std::vector<bool> seen(rows.size(), false);
  for (const int64_t row : rows) {
    CAFFE_ENFORCE(!seen[row], "row ", row, " occurs twice in the permutation");
    seen[row] = true;
  }
  return rows;
}

// Y[i] = X[indices[i]]
template <class Context>
class BatchPermutationOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using Operator<Context>::Operator;
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const std::vector<int64_t> permutation = ReadPermutation(X, this->template Input<Tensor>(1));
    RowCopierFor<Context> rows(X, X.size(0), Output(0), &context_);
    for (const int64_t row : permutation) rows.Append(row);
    rows.Finish();
    return true;
  }
};

// dX[indices[i]] = dY[i]
template <class Context>
class BatchPermutationGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using Operator<Context>::Operator;
  bool RunOnDevice() override {
    const Tensor& dY = Input(1);
    const std::vector<int64_t> permutation = ReadPermutation(dY, this->template Input<Tensor>(0));
    std::vector<int64_t> inverse(permutation.size());
    for (size_t i = 0; i < permutation.size(); ++i) {
      inverse[permutation[i]] = static_cast<int64_t>(i);
    }
    RowCopierFor<Context> rows(dY, dY.size(0), Output(0), &context_);
    for (const int64_t row : inverse) rows.Append(row);
    rows.Finish();
    return true;
  }
};

}  // namespace caffe2
