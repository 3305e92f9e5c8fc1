#include "operators/activation/softsign_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR_WITH_GRADIENT(Softsign, SoftsignFunction);

OPERATOR_SCHEMA(Softsign)
    .FillUsing(UnarySchema)
    .SetDoc("Y = X / (1 + |X|), element by element: between -1 and 1.");
OPERATOR_SCHEMA(SoftsignGradient)
    .FillUsing(UnaryGradientSchemaOfInput)
    .SetDoc("The gradient of Softsign: dX = dY / (1 + |X|)^2.");
REGISTER_GRADIENT(Softsign, GradientRule<"I0 GO0 -> GI0">);

}  // namespace caffe2
