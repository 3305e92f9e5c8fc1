#include "operators/elementwise/reciprocal_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR_WITH_GRADIENT(Reciprocal, ReciprocalFunction);

OPERATOR_SCHEMA(Reciprocal)
    .FillUsing(UnarySchema)
    .SetDoc("Y = 1 / X, element by element; infinite where X is 0.");
OPERATOR_SCHEMA(ReciprocalGradient)
    .FillUsing(UnaryGradientSchemaOfOutput)
    .SetDoc("The gradient of Reciprocal: dX = -dY * Y^2.");
REGISTER_GRADIENT(Reciprocal, GradientRule<"O0 GO0 -> GI0">);

}  // namespace caffe2
