#include "operators/optimizer/learning_rate_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(LearningRate, LearningRateOp<CPUContext>);

namespace {

// As Caffe2: the counter's shape [1], though the rate itself is a scalar.
std::vector<TensorShape> InferRate(const OperatorDef&, const std::vector<TensorShape>& in) {
  return {CreateTensorShape(GetDimsVector(in[0]), TensorProto::FLOAT)};
}

}  // namespace

OPERATOR_SCHEMA(LearningRate)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction(InferRate)
    .InputsCanCrossDevices()
    .SetDoc(R"DOC(
The learning rate base_lr * f(iter), where f is the policy:

- fixed: 1
- step: gamma ^ (iter / stepsize), rounded down
- exp: gamma ^ iter
- inv: (1 + gamma * iter) ^ (-power)
- poly: (1 - iter / max_iter) ^ power, 0 from max_iter on
- cosine: from max_lr down to min_lr along half a cosine, again and again: the k-th time within
period * t_mult^k iterations, at rates lr_shrink^k as high
- linearWarmup: from start_multiplier up to 1 at num_iter, in a straight line
- constantWarmup: multiplier before num_iter, then 1
- gate: multiplier_1 before num_iter, then multiplier_2
- slope: multiplier_1 before num_iter_1, then in a straight line down to multiplier_2 at num_iter_2
- alter: 1 for active_period iterations, 0 for inactive_period, and so on; active_first says
  which comes first
- hill: from start_multiplier up to 1 at num_iter in a straight line, then
  max(end_multiplier, (1 + gamma * (iter - num_iter)) ^ (-power))
- composite: other policies one after another, the i-th for sub_policy_num_iters[i] iterations;
  its name is sub_policy_<i>_policy, its factor sub_policy_<i>_lr_scale (default 1), and its
  arguments have the prefix sub_policy_<i>_; iter counts from the start of all

The sign of the rate depends on the operator that uses it: MomentumSGDUpdate and similar operators
subtract, WeightedSum adds.
)DOC")
    .Arg<float>("base_lr", "The rate that the policy multiplies.", true)
    .ArgOneOf("policy", LearningRatePolicyNames(), "One of the names above.", true)
    .Arg<int>("iter_offset",
              "(default 0) Added to iter: for a run that goes on with another batch size. Caffe2 "
              "has no such argument.")
    .Arg<float>("gamma", "For step, exp, inv and hill.")
    .Arg<int>("stepsize", "(> 0 if policy is step) Iterations of a step.")
    .Arg<float>("power", "For inv, poly and hill.")
    .Arg<int>("max_iter", "(> 0 if policy is poly) Iterations until the rate is 0.")
    .Arg<float>("max_lr", "For cosine.")
    .Arg<float>("min_lr", "(default 0) For cosine.")
    .Arg<int>("period", "(> 0 if policy is cosine) Iterations of the first period.")
    .Arg<float>("t_mult", "(>= 1 if policy is cosine, default 1) Factor from a period to the next.")
    .Arg<float>("lr_shrink", "(default 0.99) For cosine.")
    .Arg<int>("num_iter",
              "(>= 0 if policy is linearWarmup, constantWarmup, gate or hill, default 0) When it "
              "changes.")
    .Arg<int>("num_iter_1", "(>= 0 if policy is slope, default 0) Start of the slope.")
    .Arg<int>("num_iter_2", "(> num_iter_1 if policy is slope) End of the slope.")
    .Arg<float>("start_multiplier", "(default 0) For linearWarmup and hill.")
    .Arg<float>("end_multiplier", "(default 0) For hill.")
    .Arg<float>("multiplier", "(default 0.5) For constantWarmup.")
    .Arg<float>("multiplier_1", "(default 1) For gate and slope.")
    .Arg<float>("multiplier_2", "(default 1) For gate and slope.")
    .Arg<bool>("active_first", "(default false) For alter.")
    .Arg<int>("active_period", "(> 0 if policy is alter) Iterations with the rate.")
    .Arg<int>("inactive_period", "(> 0 if policy is alter) Iterations without it.")
    .ArgList<int>("sub_policy_num_iters", "(each > 0 if policy is composite) Iterations of each.")
    .Input(0, "iter", "The iteration counter, int64 of one element, on the host.")
    .Output(0, "learning_rate", "A float scalar.");
NO_GRADIENT(LearningRate);

}  // namespace caffe2
