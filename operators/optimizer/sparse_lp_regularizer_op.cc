// SparseLpRegularizer: shrinks rows of a parameter.
#include "operators/optimizer/sparse_lp_regularizer_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(SparseLpRegularizer, SparseLpRegularizerOp<CPUContext>);
OPERATOR_SCHEMA(SparseLpRegularizer)
    .NumInputs(2, 3)
    .NumOutputs(1)
    .EnforceInplace({{0, 0}})
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "Shrinks some rows of a parameter: by the factor 1 - reg_lambda (p = 2), or by reg_lambda "
        "towards 0 (p = 1).")
    .Arg<float>("p", "(1 or 2, default 2) The norm whose regularization this is.")
    .Arg<float>("reg_lambda", "(in [0, 1), default 1e-5) The strength.")
    .Input(0, "param", "The float parameter; updated.")
    .Input(1, "indices", "int32 or int64: the rows; a row that occurs twice shrinks twice.")
    .Input(2, "grad", "Optional; not read. Accepted for the signature of sparse optimizers.")
    .Output(0, "output_param", "The parameter, in place.");
SHOULD_NOT_DO_GRADIENT(SparseLpRegularizer);

}  // namespace caffe2
