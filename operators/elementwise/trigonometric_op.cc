#include "operators/elementwise/trigonometric_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR_WITH_GRADIENT(Sin, SinFunction, FloatTypes);
REGISTER_CPU_OPERATOR_WITH_GRADIENT(Cos, CosFunction, FloatTypes);
REGISTER_CPU_OPERATOR_WITH_GRADIENT(Tan, TanFunction);
REGISTER_CPU_OPERATOR_WITH_GRADIENT(Asin, AsinFunction);
REGISTER_CPU_OPERATOR_WITH_GRADIENT(Acos, AcosFunction);
REGISTER_CPU_OPERATOR_WITH_GRADIENT(Atan, AtanFunction);

OPERATOR_SCHEMA(Sin).FillUsing(UnarySchema).SetDoc("Y = sin(X), X in radians.");
OPERATOR_SCHEMA(SinGradient)
    .FillUsing(UnaryGradientSchemaOfInput)
    .SetDoc("Gradient of Sin: dX = dY * cos(X).");
OPERATOR_SCHEMA(Cos).FillUsing(UnarySchema).SetDoc("Y = cos(X), X in radians.");
OPERATOR_SCHEMA(CosGradient)
    .FillUsing(UnaryGradientSchemaOfInput)
    .SetDoc("Gradient of Cos: dX = -dY * sin(X).");
OPERATOR_SCHEMA(Tan).FillUsing(UnarySchema).SetDoc("Y = tan(X), X in radians.");
OPERATOR_SCHEMA(TanGradient)
    .FillUsing(UnaryGradientSchemaOfInput)
    .SetDoc("The gradient of Tan: dX = dY / cos(X)^2.");
OPERATOR_SCHEMA(Asin).FillUsing(UnarySchema).SetDoc("Y = asin(X) in radians; NaN where |X| > 1.");
OPERATOR_SCHEMA(AsinGradient)
    .FillUsing(UnaryGradientSchemaOfInput)
    .SetDoc("The gradient of Asin: dX = dY / sqrt(1 - X^2).");
OPERATOR_SCHEMA(Acos).FillUsing(UnarySchema).SetDoc("Y = acos(X) in radians; NaN where |X| > 1.");
OPERATOR_SCHEMA(AcosGradient)
    .FillUsing(UnaryGradientSchemaOfInput)
    .SetDoc("The gradient of Acos: dX = -dY / sqrt(1 - X^2).");
OPERATOR_SCHEMA(Atan).FillUsing(UnarySchema).SetDoc("Y = atan(X) in radians.");
OPERATOR_SCHEMA(AtanGradient)
    .FillUsing(UnaryGradientSchemaOfInput)
    .SetDoc("The gradient of Atan: dX = dY / (1 + X^2).");
REGISTER_GRADIENT(Sin, GradientRule<"I0 GO0 -> GI0">);
REGISTER_GRADIENT(Cos, GradientRule<"I0 GO0 -> GI0">);
REGISTER_GRADIENT(Tan, GradientRule<"I0 GO0 -> GI0">);
REGISTER_GRADIENT(Asin, GradientRule<"I0 GO0 -> GI0">);
REGISTER_GRADIENT(Acos, GradientRule<"I0 GO0 -> GI0">);
REGISTER_GRADIENT(Atan, GradientRule<"I0 GO0 -> GI0">);

}  // namespace caffe2
