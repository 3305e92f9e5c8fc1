#include "operators/sparse/batch_permutation_op.h"

#include "operators/common/gradient_rule.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(BatchPermutation, BatchPermutationOp<CPUContext>);
REGISTER_CPU_OPERATOR(BatchPermutationGradient, BatchPermutationGradientOp<CPUContext>);
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
    .SetDoc("The gradient of BatchPermutation: moves the rows back to their places.")
    .Input(0, "indices", "As in the forward operator.")
    .Input(1, "dY", "The gradient of Y.")
    .Output(0, "dX", "The gradient of X.");
REGISTER_GRADIENT(BatchPermutation, GradientRule<"I1 GO0 -> GI0">);

}  // namespace caffe2
