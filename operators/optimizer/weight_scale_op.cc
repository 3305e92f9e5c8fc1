#include "operators/optimizer/weight_scale_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(WeightScale, WeightScaleOp<CPUContext>);
OPERATOR_SCHEMA(WeightScale)
    .NumInputs(2)
    .NumOutputs(1)
    .AllowInplace({{0, 0}})
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "Multiplies a parameter by `scale` whenever iter + 1 is a multiple of stepsize and below "
        "upper_bound_iter; else copies it.")
    .Arg<int>("stepsize", "(> 0, default: never) Iterations between two scalings.")
    .Arg<int>("upper_bound_iter", "(default: no end) Where scaling ends, as above.")
    .Arg<float>("scale", "(default 1) The factor.")
    .Input(0, "w", "Float parameter.")
    .Input(1, "iter", "The iteration, one int64.")
    .Output(0, "nw", "The parameter, scaled or not; may overwrite it.");
NO_GRADIENT(WeightScale);

}  // namespace caffe2
