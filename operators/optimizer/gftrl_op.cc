#include "operators/optimizer/gftrl_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(GFtrl, GFtrlOp<CPUContext>);
OPERATOR_SCHEMA(GFtrl)
    .FillUsing(DescribeFtrl)
    .SetDoc(
        "Ftrl with group lasso, for a parameter of D rows: n and z change as in Ftrl; a column is "
        "0 where its |z'| <= lambda1 sqrt(D), else w' = z' (lambda1 sqrt(D) / |z'| - 1) / ((beta + "
        "sqrt(n')) / alpha + lambda2).")
    .Arg<float>("lambda1", "(default 0.001) The weight of the group lasso.")
    .Input(0, "var", "The float parameter w: a row for each output, a column for each feature.");
SHOULD_NOT_DO_GRADIENT(GFtrl);

}  // namespace caffe2
