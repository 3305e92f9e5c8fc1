#include "operators/activation/swish_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {
namespace {

void DescribeGated(OpSchema& schema) {
  schema.NumInputs(1)
      .NumOutputs(1)
      .IdenticalTypeAndShape()
      .Input(0, "X", "A floating-point tensor of any shape.")
      .Output(0, "Y", "The result, of its type and shape.");
}
void DescribeGatedGradient(OpSchema& schema) {
  schema.NumInputs(3)
      .NumOutputs(1)
      .AllowInplace({{2, 0}})
      .IdenticalTypeAndShapeOfInput(0)
      .Input(0, "X", "The input of the forward operator.")
      .Input(1, "Y", "Its output.")
      .Input(2, "dY", "The gradient of the output.")
      .Output(0, "dX", "The gradient of the input; may overwrite dY.");
}

}  // namespace

REGISTER_CPU_OPERATOR_WITH_GRADIENT(Swish, SwishFunction, FloatTypes);
REGISTER_CPU_OPERATOR_WITH_GRADIENT(Mish, MishFunction, FloatTypes);

OPERATOR_SCHEMA(Swish)
    .FillUsing(DescribeGated)
    .SetDoc("Y = X / (1 + exp(-X)), element by element (Ramachandran et al., 2017).");
OPERATOR_SCHEMA(SwishGradient)
    .FillUsing(DescribeGatedGradient)
    .SetDoc("The gradient of Swish: dX = dY * (Y + s(X) (1 - Y)), with s the sigmoid.");
OPERATOR_SCHEMA(Mish)
    .FillUsing(DescribeGated)
    .SetDoc("Y = X tanh(log(1 + exp(X))), element by element (Misra, 2019).");
OPERATOR_SCHEMA(MishGradient)
    .FillUsing(DescribeGatedGradient)
    .SetDoc(
        "The gradient of Mish: dX = dY * (g + X (1 - g^2) s(X)), with g = tanh(log(1 + exp(X))) "
        "and s the sigmoid.");
REGISTER_GRADIENT(Swish, GradientRule<"I0 O0 GO0 -> GI0">);
REGISTER_GRADIENT(Mish, GradientRule<"I0 O0 GO0 -> GI0">);

}  // namespace caffe2
