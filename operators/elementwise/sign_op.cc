#include "operators/elementwise/sign_op.h"

#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(Sign, UnaryOp<CPUContext, SignFunction, NumericTypes>);

OPERATOR_SCHEMA(Sign)
    .FillUsing(UnarySchema)
    .SetDoc("Y = -1, 0 or 1: the sign of X.")
    .Input(0, "X", "A tensor of numbers, of any shape.");
SHOULD_NOT_DO_GRADIENT(Sign);

}  // namespace caffe2
