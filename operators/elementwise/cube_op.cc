#include "operators/elementwise/cube_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR_WITH_GRADIENT(Cube, CubeFunction);

OPERATOR_SCHEMA(Cube).FillUsing(UnarySchema).SetDoc("Y = X^3, element by element.");
OPERATOR_SCHEMA(CubeGradient)
    .FillUsing(UnaryGradientSchemaOfInput)
    .SetDoc("The gradient of Cube: dX = 3 dY * X^2.");
REGISTER_GRADIENT(Cube, GradientRule<"I0 GO0 -> GI0">);

}  // namespace caffe2
