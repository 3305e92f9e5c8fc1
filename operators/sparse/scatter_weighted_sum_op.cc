#include "operators/sparse/gather_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(ScatterWeightedSum, ScatterWeightedSumOp<CPUContext>);
OPERATOR_SCHEMA(ScatterWeightedSum)
    .NumInputs([](int n) { return n > 3 && n % 2 == 1; })
    .NumOutputs(1)
    .EnforceInplace({{0, 0}})
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "Updates rows of a tensor in place: for each i, row INDICES[i] of X_0 is multiplied "
        "by Weight_0, and then row i of each X_k times Weight_k is added to it. An index that "
        "occurs twice is multiplied twice.")
    .Input(0, "X_0", "Float tensor of at least one dimension; updated.")
    .Input(1, "Weight_0", "Float tensor of one element.")
    .Input(2, "INDICES", "int32 or int64 row numbers.")
    .Input(3, "X_1", "Float tensor of one row for each index; further pairs follow.")
    .Input(4, "Weight_1", "Float tensor of one element.")
    .Output(0, "X_0", "The updated tensor: input 0.");
SHOULD_NOT_DO_GRADIENT(ScatterWeightedSum);

}  // namespace caffe2
