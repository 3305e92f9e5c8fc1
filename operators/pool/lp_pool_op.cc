// LpPool and its gradient on the CPU.
#include "operators/pool/lp_pool_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/common/host_device_op.h"

namespace caffe2 {

static void Pool(PoolKind kind, const PoolShape& shape, const float* x, float* y,
                 CPUContext* /*context*/) {
  Pool<float>(kind, shape, x, y);
}
static void PoolGradient(PoolKind kind, const PoolShape& shape, const float* x, const float* y,
                         const float* dy, float* dx, CPUContext* /*context*/) {
  PoolGradient<float>(kind, shape, x, y, dy, dx);
}

namespace {

void Arguments(OpSchema& schema) {
  schema.FillUsing(DescribeWindow)
      .Arg<bool>("global_pooling", "1: the window is the whole image. Default 0.")
      .Arg<float>("p", "(> 0, default 2) The norm.");
}

}  // namespace

REGISTER_CPU_OPERATOR(LpPool, LpPoolOp<CPUContext>);
REGISTER_CPU_OPERATOR(LpPoolGradient, LpPoolGradientOp<CPUContext>);
OPERATOR_SCHEMA(LpPool)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction(InferPool)
    .FillUsing(Arguments)
    .SetDoc("The p-norm of every window: (sum of |x|^p)^(1/p). Pads count as 0.")
    .Input(0, "X", "A float image N x C x H x W (NCHW) or N x H x W x C (NHWC).")
    .Output(0, "Y",
            "N x C x H' x W' or N x H' x W' x C, with H' = (H + pads - kernel) / stride + 1.");
OPERATOR_SCHEMA(LpPoolGradient)
    .NumInputs(3)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .FillUsing(Arguments)
    .SetDoc("The gradient of LpPool; 0 where the norm is 0.")
    .Input(0, "X", "The forward operator's input.")
    .Input(1, "Y", "The forward operator's output.")
    .Input(2, "dY", "Gradient of Y.")
    .Output(0, "dX", "Gradient of X.");
REGISTER_GRADIENT(LpPool, GradientRule<"I0 O0 GO0 -> GI0">);

}  // namespace caffe2
