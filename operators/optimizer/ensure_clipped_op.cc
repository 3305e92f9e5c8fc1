#include "operators/optimizer/ensure_clipped_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(EnsureClipped, EnsureClippedOp<CPUContext>);
OPERATOR_SCHEMA(EnsureClipped)
    .NumInputs(1, 3)
    .NumOutputs(1)
    .AllowInplace({{0, 0}})
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "Limits a parameter to [min, max], or only its rows that have a gradient, in place. NaN "
        "stays NaN.")
    .Arg<float>("min", "Lower bound. Default: the lowest float.")
    .Arg<float>("max", "Upper bound. Default: the highest float.")
    .Input(0, "param", "The float parameter.")
    .Input(1, "indices", "Optional: the rows, int32 or int64.")
    .Input(2, "grad", "Their gradient; not read.")
    .Output(0, "output_param", "The parameter within its bounds.");
SHOULD_NOT_DO_GRADIENT(EnsureClipped);

}  // namespace caffe2
