#include "operators/elementwise/conditional_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(Conditional, ConditionalOp<CPUContext>);
OPERATOR_SCHEMA(Conditional)
    .NumInputs(3)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(1)
    .SetDoc("Row by row, the first choice where the condition is true, the second elsewhere.")
    .Input(0, "Condition", "Bool, one element for each row.")
    .Input(1, "DataT", "Rows where the condition is true, of any type.")
    .Input(2, "DataF", "Rows where it is false; of DataT's type and shape.")
    .Output(0, "DataO", "The chosen rows.");
SHOULD_NOT_DO_GRADIENT(Conditional);

}  // namespace caffe2
