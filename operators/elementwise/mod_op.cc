#include "operators/elementwise/mod_op.h"

#include "operators/elementwise/unary_op.h"

namespace caffe2 {

ModFunction::ModFunction(const OperatorBase& op)
    : divisor(op.GetSingleArgument<int64_t>("divisor", 0)),
      follow_divisor(op.GetSingleArgument<bool>("sign_follow_divisor", false)) {
  CAFFE_ENFORCE(divisor != 0, "argument divisor must not be 0");
}

REGISTER_CPU_OPERATOR(Mod, UnaryOp<CPUContext, ModFunction, IntegerTypes>);

OPERATOR_SCHEMA(Mod)
    .FillUsing(UnarySchema)
    .SetDoc(
        "The remainder of a division. It has the sign of the dividend, or of the divisor if asked.")
    .Arg<int>("divisor", "(not 0) The divisor.", true)
    .Arg<bool>("sign_follow_divisor", "(default 0) 1: as in Python.")
    .Input(0, "DATA", "int32 or int64, of any shape.");
NO_GRADIENT(Mod);

}  // namespace caffe2
