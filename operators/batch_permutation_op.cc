// BatchPermutation: the rows of a tensor in another order.
#include "caffe2/core/operator.h"
#include "operators/gradient_rule.h"
#include "operators/indices.h"
#include "operators/row_copier.h"

namespace caffe2 {
namespace {

// The indices, which must name each row of X once.
std::vector<int64_t> ReadPermutation(const Tensor& X, const Tensor& indices) {
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
class BatchPermutationOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const std::vector<int64_t> permutation = ReadPermutation(X, Input(1));
    RowCopier rows(X, X.size(0), Output(0));
    for (const int64_t row : permutation) rows.Append(row);
    return true;
  }
};

// dX[indices[i]] = dY[i]
class BatchPermutationGradientOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor& dY = Input(1);
    const std::vector<int64_t> permutation = ReadPermutation(dY, Input(0));
    std::vector<int64_t> inverse(permutation.size());
    for (size_t i = 0; i < permutation.size(); ++i) {
      inverse[permutation[i]] = static_cast<int64_t>(i);
    }
    RowCopier rows(dY, dY.size(0), Output(0));
    for (const int64_t row : inverse) rows.Append(row);
    return true;
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(BatchPermutation, BatchPermutationOp);
REGISTER_CPU_OPERATOR(BatchPermutationGradient, BatchPermutationGradientOp);
OPERATOR_SCHEMA(BatchPermutation)
    .NumInputs(2)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("Y[i] = X[indices[i]]: the rows of X in another order.")
    .Input(0, "X", "A tensor of any type with at least one axis.")
    .Input(1, "indices", "int32 or int64: each row of X once.")
    .Output(0, "Y", "The rows in that order.");
OPERATOR_SCHEMA(BatchPermutationGradient)
    .NumInputs(2)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(1)
    .SetDoc("The gradient of BatchPermutation: the rows back in their places.")
    .Input(0, "indices", "As in the forward operator.")
    .Input(1, "dY", "The gradient of Y.")
    .Output(0, "dX", "The gradient of X.");
REGISTER_GRADIENT(BatchPermutation, GradientRule<"I1 GO0 -> GI0">);

}  // namespace caffe2
