#include "operators/elementwise/square_root_divide_op.h"

#include "operators/common/gradient_rule.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(SquareRootDivide, SquareRootDivideOp<CPUContext>);
OPERATOR_SCHEMA(SquareRootDivide)
    .NumInputs(2)
    .NumOutputs(1)
    .AllowInplace({{0, 0}})
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("Divides each row by the square root of its scale; where that is not above 0, by 1.")
    .Input(0, "data", "A float tensor of at least one axis.")
    .Input(1, "scale", "Float, int32 or int64: one for each row; it gets no gradient.")
    .Output(0, "output", "The result, shaped like the data; may overwrite it.");
REGISTER_GRADIENT(SquareRootDivide, GradientRule<"SquareRootDivide: GO0 I1 -> GI0">);

}  // namespace caffe2
