#include "operators/elementwise/root_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR_WITH_GRADIENT(Rsqrt, RsqrtFunction);
REGISTER_CPU_OPERATOR_WITH_GRADIENT(Cbrt, CbrtFunction);

OPERATOR_SCHEMA(Rsqrt)
    .FillUsing(UnarySchema)
    .SetDoc("Y = 1 / sqrt(X), element by element; NaN where X is negative.");
OPERATOR_SCHEMA(RsqrtGradient)
    .FillUsing(UnaryGradientSchemaOfOutput)
    .SetDoc("The gradient of Rsqrt: dX = -dY * Y^3 / 2.");
OPERATOR_SCHEMA(Cbrt)
    .FillUsing(UnarySchema)
    .SetDoc("Y = the cube root of X, element by element, with its sign.");
OPERATOR_SCHEMA(CbrtGradient)
    .FillUsing(UnaryGradientSchemaOfOutput)
    .SetDoc("The gradient of Cbrt: dX = dY / (3 Y^2); infinite or NaN where Y is 0.");
REGISTER_GRADIENT(Rsqrt, GradientRule<"O0 GO0 -> GI0">);
REGISTER_GRADIENT(Cbrt, GradientRule<"O0 GO0 -> GI0">);

}  // namespace caffe2
