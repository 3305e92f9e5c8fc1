#include "operators/optimizer/multi_update_op.h"

#include "caffe2/utils/parallel.h"
#include "operators/common/element_type.h"

namespace caffe2 {

template <>
MomentumSgdRule ReadRule<MomentumSgdRule>(const OperatorBase& op) {
  const MomentumFactors factors(op);
  return {factors.momentum, factors.a, factors.b};
}
template <>
AdamRule ReadRule<AdamRule>(const OperatorBase& op) {
  const AdamArguments arguments(op);
  return {arguments.beta1, arguments.beta2, arguments.epsilon};
}
template <>
AdagradRule ReadRule<AdagradRule>(const OperatorBase& op) {
  return {op.GetSingleArgument<float>("epsilon", 1e-5f), op.GetSingleArgument<float>("decay", 1.f)};
}
template <>
RmsPropRule ReadRule<RmsPropRule>(const OperatorBase& op) {
  return {op.GetSingleArgument<float>("decay", 0.9f), op.GetSingleArgument<float>("momentum", 0.f),
          op.GetSingleArgument<float>("epsilon", 1e-5f)};
}

namespace {

template <class Rule>
using Part = typename MultiUpdateRun<Rule>::Part;

// Elements [begin, end) of a part, with gradients of G; `scale` is what these are divided by.
template <class Rule, typename G>
void UpdateElements(const Rule& rule, const UpdateScalars& scalars, float scale,
                    const Part<Rule>& part, int64_t begin, int64_t end) {
  constexpr int kStates = Rule::kStates;
  const G* grad = static_cast<const G*>(part.grad);
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    float state[kStates];
    for (int s = 0; s < kStates; ++s) state[s] = part.state[s][i];
    const float old = part.param[i];
    const float change = rule.Change(scalars, Widen(grad[i]) / scale + part.decay * old, state);
    for (int s = 0; s < kStates; ++s) part.state_out[s][i] = state[s];
    part.param_out[i] = old + change;
  }
}

template <class Rule>
void KeepPart(const Part<Rule>& part) {
  const auto keep = [&part](const float* from, float* to) {
    if (from != to) std::copy_n(from, part.n, to);
  };
  for (int s = 0; s < Rule::kStates; ++s) keep(part.state[s], part.state_out[s]);
  keep(part.param, part.param_out);
}

template <typename T>
void Narrowed(int64_t begin, int64_t end, const float* x, void* y) {
  for (int64_t i = begin; i < end; ++i) static_cast<T*>(y)[i] = Narrow<T>(x[i]);
}

}  // namespace

template <class Rule>
void RunUpdates(MultiUpdateRun<Rule>* run, const OperatorBase* /*op*/, CPUContext* /*context*/) {
  UpdateScalars scalars{.lr = *CheckLearningRate(*run->lr)};
  if constexpr (Rule::kCorrected) {
    CAFFE_ENFORCE_EQ(run->iter->numel(), 1, "the iteration counter has one element");
    scalars.correction =
        AdamCorrection(run->rule.beta1, run->rule.beta2, *run->iter->template data<int64_t>());
  }
  const bool skip = IsSet(run->found_inf);
  const float scale = run->scale != nullptr ? *run->scale : 1.f;
  const bool half = run->copy_type.template Match<float16>();
  const auto update = run->grad_type.template Match<float>()     ? UpdateElements<Rule, float>
                      : run->grad_type.template Match<float16>() ? UpdateElements<Rule, float16>
                                                                 : UpdateElements<Rule, bfloat16>;
  for (const Part<Rule>& part : run->parts) {
    if (skip) KeepPart<Rule>(part);
    ParallelFor(part.n, kOptimizerGrain, [&](int64_t begin, int64_t end) {
      if (!skip) update(run->rule, scalars, scale, part, begin, end);
      if (part.copy == nullptr) return;
      half ? Narrowed<float16>(begin, end, part.param_out, part.copy)
           : Narrowed<bfloat16>(begin, end, part.param_out, part.copy);
    });
  }
}

namespace {

using MultiMomentumSgd = MultiUpdateOp<CPUContext, MomentumSgdRule>;
using MultiAdam = MultiUpdateOp<CPUContext, AdamRule>;
using MultiAdagrad = MultiUpdateOp<CPUContext, AdagradRule>;
using MultiRmsProp = MultiUpdateOp<CPUContext, RmsPropRule>;
REGISTER_CPU_OPERATOR(MultiMomentumSGDUpdate, MultiMomentumSgd);
REGISTER_CPU_OPERATOR(MultiAdam, MultiAdam);
REGISTER_CPU_OPERATOR(MultiAdagrad, MultiAdagrad);
REGISTER_CPU_OPERATOR(MultiRmsProp, MultiRmsProp);

// The shape of such an operator; `steering` inputs lie between the states and the parameters.
void MultiUpdateSchema(OpSchema& schema, int states, int steering, const std::string& update) {
  schema
      .NumInputsOutputs([states, steering](int in, int out) {
        const int count = (in - steering) / (states + 2);
        return count > 0 && (in - steering) % (states + 2) <= 2 && out >= (states + 1) * count &&
               out <= (states + 2) * count;
      })
      .AllowInplace([](int in, int out) { return in > out; })
      .TensorInferenceFunction(
          [states, steering](const OperatorDef& def, const std::vector<TensorShape>& in) {
            const ArgumentHelper arguments(def);
            const int count = (def.input_size() - steering) / (states + 2);
            const auto params = in.begin() + (states + 1) * count + steering;
            std::vector<TensorShape> out(in.begin() + count, in.begin() + (states + 1) * count);
            out.insert(out.end(), params, params + count);
            for (const int i : arguments.GetRepeatedArgument<int>("copied")) {
              out.push_back(params[i]);
              out.back().set_data_type(static_cast<TensorProto::DataType>(
                  arguments.GetSingleArgument<int>("copy_type", TensorProto::FLOAT16)));
            }
            return out;
          })
      .InputsCanCrossDevices()
      .SetDoc(
          update +
          " of n parameters at once, with weight decay: grad / scale + weight_decay * param "
          "takes the place of grad. The gradients themselves stay as they are. On CUDA devices "
          "it is one kernel if the gradients, each kind of state, the parameters and the copies "
          "are laid out in a block each (argument flat). Inputs are n gradients, n states of "
          "each kind, what steers the update (lr, a float scalar, and what else it takes), n "
          "parameters, and possibly found_inf (of CheckFinite: if it is not 0, nothing is "
          "updated) and then the scale that gradients are divided by.")
      .Arg("weight_decay", "(floats, default zeros) One for each parameter.")
      .Arg("flat",
           "(bool, default false) The tensors are views of blocks, at the same offsets of "
           "multiples of 64 elements, and what lies between them may be written.")
      .Arg("copied", "(ints, default none) The parameters that are also written in 16 bits.")
      .Arg("copy_type", "(int, default FLOAT16) TensorProto.FLOAT16 or BFLOAT16.")
      .Input(0, "grads", "n gradients of one type: float, float16 or bfloat16.")
      .Output(0, "output_states",
              "The new states, in the order of the inputs; most often the same "
              "blobs.")
      .Output(1, "output_params",
              "n new parameters, most often the same blobs; then the 16-bit copies of those that "
              "`copied` names.");
}

}  // namespace

OPERATOR_SCHEMA(MultiMomentumSGDUpdate)
    .FillUsing([](OpSchema& schema) { MultiUpdateSchema(schema, 1, 1, "MomentumSGDUpdate"); })
    .Arg("momentum", "(float, default 0) The share of the last step that is kept.")
    .Arg("nesterov", "(int, default 0) 1 for Nesterov's form.")
    .Input(1, "moments", "n momenta, shaped like the gradients; then lr, and so on.");
OPERATOR_SCHEMA(MultiAdam)
    .FillUsing([](OpSchema& schema) { MultiUpdateSchema(schema, 2, 2, "Adam"); })
    .Arg("beta1", "(float, default 0.9) The share of the first moment that is kept.")
    .Arg("beta2", "(float, default 0.999) The share of the second moment that is kept.")
    .Arg("epsilon", "(float, default 1e-5) Added to the divisor.")
    .Input(1, "moments",
           "n first and n second moments, shaped like the gradients; then lr, iter (int64 of one "
           "element, on the host), and so on.");
OPERATOR_SCHEMA(MultiAdagrad)
    .FillUsing([](OpSchema& schema) { MultiUpdateSchema(schema, 1, 1, "Adagrad"); })
    .Arg("epsilon", "(float, default 1e-5) Added to the divisor.")
    .Arg("decay", "(float, default 1) The share of the moment that is kept.")
    .Input(1, "moments", "n sums of squares, shaped like the gradients; then lr, and so on.");
OPERATOR_SCHEMA(MultiRmsProp)
    .FillUsing([](OpSchema& schema) {
      MultiUpdateSchema(schema, 2, 1, "RmsProp, and the addition of its step,");
    })
    .Arg("decay", "(float, default 0.9) The share of the mean squares that is kept.")
    .Arg("momentum", "(float, default 0) The share of the last step that is kept.")
    .Arg("epsilon", "(float, default 1e-5) Added under the root.")
    .Input(1, "states",
           "n mean squares and n last steps, shaped like the gradients; then lr, and so on.");
SHOULD_NOT_DO_GRADIENT(MultiMomentumSGDUpdate);
SHOULD_NOT_DO_GRADIENT(MultiAdam);
SHOULD_NOT_DO_GRADIENT(MultiAdagrad);
SHOULD_NOT_DO_GRADIENT(MultiRmsProp);

}  // namespace caffe2
