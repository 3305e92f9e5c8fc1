#include "operators/optimizer/weight_average_op.h"

namespace caffe2 {
namespace {

void DescribeWeightAverage(OpSchema& schema) {
  schema.NumInputs(3)
      .NumOutputs(2)
      .EnforceInplace({{0, 0}, {1, 1}})
      .InputsCanCrossDevices()
      .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
        return std::vector<TensorShape>{in[0], in[1]};
      })
      .Input(0, "param", "The float parameter.")
      .Input(1, "average", "Its average, of the same shape; updated.")
      .Input(2, "iter", "The iteration, int64 of one element, on the host.")
      .Output(0, "output_param", "The parameter, in place.")
      .Output(1, "output_average", "The average, in place.");
}

}  // namespace

REGISTER_CPU_OPERATOR(SWA, SwaOp<CPUContext>);
REGISTER_CPU_OPERATOR(EMA, EmaOp<CPUContext>);

OPERATOR_SCHEMA(SWA)
    .FillUsing(DescribeWeightAverage)
    .SetDoc(
        "Stochastic weight averaging (Izmailov et al., 2018): the mean of a parameter over the "
        "iterations avg_start to avg_end. From feedback_start to feedback_end, every "
        "feedback_step iterations, the parameter is set to its mean.")
    .Arg<int>("avg_start", "(default 0) The first iteration of the mean.")
    .Arg<int>("avg_end", "(default: no end) The last one.")
    .Arg<int>("feedback_start", "(default: never) The first iteration that sets the parameter.")
    .Arg<int>("feedback_step", "(> 0, default 1) Iterations from one to the next.")
    .Arg<int>("feedback_end", "(default: no end) The last iteration that may set it.");
OPERATOR_SCHEMA(EMA)
    .FillUsing(DescribeWeightAverage)
    .SetDoc(
        "The exponential moving average of a parameter, which is not changed: average = ema_alpha "
        "* average + (1 - ema_alpha) * param every ema_step iterations from ema_start to ema_end; "
        "at ema_start the average becomes the parameter.")
    .Arg<int>("ema_start", "(default 0) The first iteration.")
    .Arg<int>("ema_end", "(default: no end) The last one.")
    .Arg<int>("ema_step", "(> 0, default 1) Iterations from one to the next.")
    .Arg<float>("ema_alpha", "(in [0, 1], default 0) The share of the average that is kept.");
NO_GRADIENT(SWA);
NO_GRADIENT(EMA);

}  // namespace caffe2
