#include "operators/elementwise/batch_box_cox_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(BatchBoxCox, BatchBoxCoxOp<CPUContext>);
OPERATOR_SCHEMA(BatchBoxCox)
    .NumInputs(3)
    .NumOutputs(1)
    .AllowInplace({{0, 0}})
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "The Box-Cox transform of each column: (z^lambda1 - 1) / lambda1, or log(z) where lambda1 "
        "is 0, of z = max(x + lambda2, 1e-6).")
    .Arg("naive", "Of Caffe2; not read.")
    .Arg("min_block_size", "Of Caffe2; not read.")
    .Input(0, "data", "A float or double tensor, seen as an N x D matrix.")
    .Input(1, "lambda1", "D numbers of its type.")
    .Input(2, "lambda2", "D numbers of its type.")
    .Output(0, "output", "The result, shaped like the data; may overwrite it.");
SHOULD_NOT_DO_GRADIENT(BatchBoxCox);

}  // namespace caffe2
