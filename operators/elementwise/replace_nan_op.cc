#include "operators/elementwise/replace_nan_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(ReplaceNaN, ReplaceNaNOp<CPUContext>);
OPERATOR_SCHEMA(ReplaceNaN)
    .NumInputs(1)
    .NumOutputs(1)
    .AllowInplace({{0, 0}})
    .IdenticalTypeAndShape()
    .SetDoc("Writes a value in place of each NaN.")
    .Arg("value", "(float, default 0) The value.")
    .Input(0, "input", "A tensor of a floating-point type.")
    .Output(0, "output", "The same, without NaN.");
SHOULD_NOT_DO_GRADIENT(ReplaceNaN);

}  // namespace caffe2
