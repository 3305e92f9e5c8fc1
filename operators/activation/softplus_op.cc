#include "operators/activation/softplus_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR_WITH_GRADIENT(Softplus, SoftplusFunction);

OPERATOR_SCHEMA(Softplus).FillUsing(UnarySchema).SetDoc("Y = log(1 + exp(X)), element by element.");
OPERATOR_SCHEMA(SoftplusGradient)
    .FillUsing(UnaryGradientSchemaOfOutput)
    .SetDoc("The gradient of Softplus: dX = dY * (1 - exp(-Y)).");
REGISTER_GRADIENT(Softplus, GradientRule<"O0 GO0 -> GI0">);

}  // namespace caffe2
