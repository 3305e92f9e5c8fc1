#include "operators/activation/relu_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR_WITH_GRADIENT(Relu, ReluFunction, TensorTypes<float, float16, bfloat16, int>);

OPERATOR_SCHEMA(Relu)
    .FillUsing(UnarySchema)
    .SetDoc(
        "The rectifier Y = max(X, 0), element by element; for float, bfloat16, float16 and "
        "int32 tensors. A NaN stays a NaN.")
    .Input(0, "X", "A tensor of any shape.");
OPERATOR_SCHEMA(ReluGradient)
    .FillUsing(UnaryGradientSchemaOfOutput)
    .SetDoc("The gradient of Relu: dX = dY where Y > 0, else 0.");
REGISTER_GRADIENT(Relu, GradientRule<"O0 GO0 -> GI0">);

}  // namespace caffe2
