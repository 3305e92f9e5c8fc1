#include "operators/elementwise/rounding_op.h"

#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(Ceil, UnaryOp<CPUContext, CeilFunction, FloatTypes>);
REGISTER_CPU_OPERATOR(Floor, UnaryOp<CPUContext, FloorFunction, FloatTypes>);

OPERATOR_SCHEMA(Ceil)
    .FillUsing(UnarySchema)
    .SetDoc("Y = the smallest whole number that is not less than X.");
OPERATOR_SCHEMA(Floor)
    .FillUsing(UnarySchema)
    .SetDoc("Y = the largest whole number that is not greater than X.");
SHOULD_NOT_DO_GRADIENT(Ceil);
SHOULD_NOT_DO_GRADIENT(Floor);

}  // namespace caffe2
