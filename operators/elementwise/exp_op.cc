#include "operators/elementwise/exp_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(Exp, UnaryOp<CPUContext, ExpFunction, FloatTypes>);

OPERATOR_SCHEMA(Exp).FillUsing(UnarySchema).SetDoc("Y = e^X.");
REGISTER_GRADIENT(Exp, GradientRule<"Mul: O0 GO0 -> GI0">);

}  // namespace caffe2
