// Softsign: Y = X / (1 + |X|), with the gradient from X.
#include "operators/activation/activation_function_op.h"
#include "operators/common/gradient_rule.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(Softsign, CpuFunctionOp<SoftsignFunction>);
REGISTER_CPU_OPERATOR(SoftsignGradient, CpuFunctionGradientOp<SoftsignFunction>);

OPERATOR_SCHEMA(Softsign)
    .FillUsing(ActivationSchema)
    .SetDoc("Y = X / (1 + |X|), element by element: between -1 and 1.");
OPERATOR_SCHEMA(SoftsignGradient)
    .FillUsing(ActivationGradientSchemaOfInput)
    .SetDoc("The gradient of Softsign: dX = dY / (1 + |X|)^2.");
REGISTER_GRADIENT(Softsign, GradientRule<"I0 GO0 -> GI0">);

}  // namespace caffe2
