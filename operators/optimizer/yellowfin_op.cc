#include "operators/optimizer/yellowfin_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(YellowFin, YellowFinOp<CPUContext>);
OPERATOR_SCHEMA(YellowFin)
    .NumInputs(10)
    .NumOutputs(8)
    .AllowInplace({{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 6}, {7, 7}})
    .InputsCanCrossDevices()
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>(in.begin(), in.begin() + 8);
    })
    .SetDoc(
        "Momentum SGD that tunes its learning rate and momentum by the range of curvatures, the "
        "variance of the gradient and the distance to the optimum, all estimated from the "
        "gradients (Zhang & Mitliagkas, \"YellowFin and the Art of Momentum Tuning\"). The "
        "step uses the rate and momentum of the iterations before.")
    .Arg<int>("curv_win_width", "(> 0, default 20) Iterations that the curvature range covers.")
    .Arg<float>("epsilon", "(> 0, default 1e-6) Smaller estimates count as this.")
    .Arg<int>("nesterov", "(default 0) 1 for Nesterov's form.")
    .Arg<bool>("zero_debias", "(default 1) Corrects averages for their start at 0.")
    .Arg<float>("beta", "(in [0, 1), default 0.999) The share of the averages that is kept.")
    .Input(0, "param", "The float parameter.")
    .Input(1, "moment", "The momentum, shaped like it; zeros at the start.")
    .Input(2, "lr_avg", "The learning rate, one float.")
    .Input(3, "mu_avg", "The momentum factor, one float.")
    .Input(4, "curv_win", "curv_win_width floats: logarithms of squared gradient norms.")
    .Input(5, "g_avg", "Average gradient, shaped like the parameter.")
    .Input(6, "g2_avg", "Average squared gradient, shaped like the parameter.")
    .Input(7, "scalars_memory", "5 floats: other averages; zeros at the start.")
    .Input(8, "grad", "The gradient, shaped like the parameter.")
    .Input(9, "iter", "The iteration from 1, int64 of one element, on the host.")
    .Output(0, "output_param", "The new parameter; most often the same blob.")
    .Output(1, "output_moment", "The new momentum.")
    .Output(2, "output_lr_avg", "The new learning rate.")
    .Output(3, "output_mu_avg", "The new momentum factor.")
    .Output(4, "output_curv_win", "The curvatures with this iteration's.")
    .Output(5, "output_g_avg", "The new average gradient.")
    .Output(6, "output_g2_avg", "The new average squared gradient.")
    .Output(7, "output_scalars_memory", "The other new averages.");
SHOULD_NOT_DO_GRADIENT(YellowFin);

}  // namespace caffe2
