#include "operators/elementwise/erf_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR_WITH_GRADIENT(Erf, ErfFunction);

OPERATOR_SCHEMA(Erf)
    .FillUsing(UnarySchema)
    .SetDoc("Y = erf(X), the error function, element by element.");
OPERATOR_SCHEMA(ErfGradient)
    .FillUsing(UnaryGradientSchemaOfInput)
    .SetDoc("The gradient of Erf: dX = dY * 2 / sqrt(pi) * exp(-X^2).");
REGISTER_GRADIENT(Erf, GradientRule<"I0 GO0 -> GI0">);

}  // namespace caffe2
