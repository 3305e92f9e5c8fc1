#include "operators/activation/tanh_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR_WITH_GRADIENT(Tanh, TanhFunction);

OPERATOR_SCHEMA(Tanh).FillUsing(UnarySchema).SetDoc("The hyperbolic tangent, element by element.");
OPERATOR_SCHEMA(TanhGradient)
    .FillUsing(UnaryGradientSchemaOfOutput)
    .SetDoc("The gradient of Tanh: dX = dY * (1 - Y * Y).");
REGISTER_GRADIENT(Tanh, GradientRule<"O0 GO0 -> GI0">);

}  // namespace caffe2
