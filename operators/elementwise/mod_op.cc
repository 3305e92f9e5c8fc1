// Mod: the rest of a division.
#include "operators/common/portable_op.h"
#include "operators/elementwise/transform_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(Mod, ModOp<CPUContext>);
OPERATOR_SCHEMA(Mod)
    .NumInputs(1)
    .NumOutputs(1)
    .AllowInplace({{0, 0}})
    .IdenticalTypeAndShape()
    .SetDoc("The rest of a division. It has the sign of the dividend, or of the divisor if asked.")
    .Arg("divisor", "(int, not 0) The divisor.", true)
    .Arg("sign_follow_divisor", "(bool, default 0) 1: as in Python.")
    .Input(0, "DATA", "int32 or int64, of any shape.")
    .Output(0, "OUTPUT", "The rests, of the same type and shape.");
NO_GRADIENT(Mod);

}  // namespace caffe2
