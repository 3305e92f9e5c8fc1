// PiecewiseLinearTransform: a piecewise linear function for each column of predictions.
#include "operators/elementwise/piecewise_linear_transform_op.h"

#include "operators/common/host_device_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(PiecewiseLinearTransform, PiecewiseLinearTransformOp<CPUContext>);
OPERATOR_SCHEMA(PiecewiseLinearTransform)
    .NumInputs([](int n) { return n == 1 || n == 4; })
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "A piecewise linear function for each column of predictions; outside of its bounds it has "
        "the value at the nearest one. Functions are given as arguments or as inputs 1 to 3, all "
        "with the same number of pieces.")
    .ArgList<float>("bounds", "The bounds of all functions, one more than pieces, ascending.")
    .ArgList<float>("slopes", "The slopes of all pieces of all functions.")
    .ArgList<float>("intercepts", "Their values at 0.")
    .Arg<bool>("binary",
               "(default 0) 1: predictions are of one event, one-dimensional, N x 1 or N x 2; the "
               "only function is for the last column, and the first becomes 1 minus the last.")
    .Input(0, "predictions", "A float matrix N x D.")
    .Input(1, "bounds", "Float, in place of the argument.")
    .Input(2, "slopes", "Float, in place of the argument.")
    .Input(3, "intercepts", "Float, in place of the argument.")
    .Output(0, "transforms", "The results, shaped like the predictions.");
SHOULD_NOT_DO_GRADIENT(PiecewiseLinearTransform);

}  // namespace caffe2
