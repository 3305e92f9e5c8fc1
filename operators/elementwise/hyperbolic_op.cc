#include "operators/elementwise/hyperbolic_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR_WITH_GRADIENT(Sinh, SinhFunction);
REGISTER_CPU_OPERATOR_WITH_GRADIENT(Cosh, CoshFunction);

OPERATOR_SCHEMA(Sinh).FillUsing(UnarySchema).SetDoc("Y = sinh(X), element by element.");
OPERATOR_SCHEMA(SinhGradient)
    .FillUsing(UnaryGradientSchemaOfInput)
    .SetDoc("The gradient of Sinh: dX = dY * cosh(X).");
OPERATOR_SCHEMA(Cosh).FillUsing(UnarySchema).SetDoc("Y = cosh(X), element by element.");
OPERATOR_SCHEMA(CoshGradient)
    .FillUsing(UnaryGradientSchemaOfInput)
    .SetDoc("The gradient of Cosh: dX = dY * sinh(X).");
REGISTER_GRADIENT(Sinh, GradientRule<"I0 GO0 -> GI0">);
REGISTER_GRADIENT(Cosh, GradientRule<"I0 GO0 -> GI0">);

}  // namespace caffe2
