#include "operators/optimizer/multi_update_op.h"

#include "caffe2/utils/parallel.h"
#include "operators/common/element_type.h"

namespace caffe2 {

namespace {

template <class Rule>
using Part = typename MultiUpdateRun<Rule>::Part;

// The update of one part by `rule`, with gradients of G.
template <typename G, class Rule, class PartRule>
auto UpdateOf(const MultiUpdateRun<Rule>& run, const Part<Rule>& part, const PartRule& rule,
              const Rate& correction) {
  DenseUpdate<PartRule, float, G, float> update{
      .rule = rule,
      .lr = RateFor(*run.lr, "the learning rate", static_cast<CPUContext*>(nullptr)),
      .correction = correction,
      .found_inf = run.found_inf,
      .grad = static_cast<const G*>(part.grad),
      .param = part.param,
      .param_out = part.param_out};
  std::copy_n(part.state, Rule::kStates, update.state);
  std::copy_n(part.state_out, Rule::kStates, update.state_out);
  return update;
}

template <typename T>
void Narrowed(int64_t begin, int64_t end, const float* x, void* y) {
  for (int64_t i = begin; i < end; ++i) static_cast<T*>(y)[i] = Narrow<T>(x[i]);
}

// Updates a part by `rule`, with gradients of G.
template <typename G, class Rule, class PartRule>
void RunPart(const MultiUpdateRun<Rule>& run, const Part<Rule>& part, const PartRule& rule,
             const Rate& correction) {
  const bool half = run.copy_type.template Match<float16>();
  const auto update = UpdateOf<G>(run, part, rule, correction);
  ParallelFor(part.n, kOptimizerGrain, [&](int64_t begin, int64_t end) {
    UpdateRange(update, begin, end);
    if (part.copy == nullptr) return;
    half ? Narrowed<float16>(begin, end, part.param_out, part.copy)
         : Narrowed<bfloat16>(begin, end, part.param_out, part.copy);
  });
}

// Updates the parts by gradients of G.
template <typename G, class Rule>
void RunParts(const MultiUpdateRun<Rule>& run, const Rate& correction) {
  for (const Part<Rule>& part : run.parts) {
    const WithWeightDecay<Rule> rule = {run.rule, part.decay};
    if (run.scale == nullptr) {  // saves a division, which takes as long as most rules
      RunPart<G>(run, part, rule, correction);
    } else {
      RunPart<G>(run, part, WithScaledGradient<WithWeightDecay<Rule>>{rule, *run.scale},
                 correction);
    }
  }
}

}  // namespace

template <class Rule>
void RunUpdates(MultiUpdateRun<Rule>* run, const OperatorBase* /*op*/, CPUContext* context) {
  Rate correction{nullptr, 1.f};
  if constexpr (CorrectedRule<Rule>) correction = CorrectionOf(run->rule, *run->iter, context);
  if (run->grad_type.template Match<float>()) {
    RunParts<float>(*run, correction);
  } else if (run->grad_type.template Match<float16>()) {
    RunParts<float16>(*run, correction);
  } else {
    RunParts<bfloat16>(*run, correction);
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

// The schema of such an operator. `scalars` scalar inputs come between the states and the
// parameters.
void MultiUpdateSchema(OpSchema& schema, int states, int scalars, const std::string& update) {
  schema
      .NumInputsOutputs([states, scalars](int in, int out) {
        const int count = (in - scalars) / (states + 2);
        return count > 0 && (in - scalars) % (states + 2) <= 2 && out >= (states + 1) * count &&
               out <= (states + 2) * count;
      })
      .AllowInplace([](int in, int out) { return in > out; })
      .TensorInferenceFunction(
          [states, scalars](const OperatorDef& def, const std::vector<TensorShape>& in) {
            const ArgumentHelper arguments(def);
            const int count = (def.input_size() - scalars) / (states + 2);
            const auto params = in.begin() + (states + 1) * count + scalars;
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
          "each kind, the scalars of the update (lr, a float, and what else it takes), n "
          "parameters, and possibly found_inf (of CheckFinite: if it is not 0, nothing is "
          "updated) and then the scale that gradients are divided by.")
      .ArgList<float>("weight_decay", "(default zeros) One for each parameter.")
      .Arg<bool>("flat",
                 "(default false) The tensors are views of blocks, at the same offsets of "
                 "multiples of 64 elements, and the elements between them may be written.")
      .ArgList<int>("copied", "(default none) The parameters that are also written in 16 bits.")
      .Arg<int>("copy_type", "(default FLOAT16) TensorProto.FLOAT16 or BFLOAT16.")
      .Input(0, "grads", "n gradients of one type: float, float16 or bfloat16.")
      .Output(0, "output_states",
              "The new states, in the order of the inputs; most often the same "
              "blobs.")
      .Output(1, "output_params",
              "n new parameters, most often the same blobs; then the 16-bit copies of the "
              "parameters in `copied`.");
}

}  // namespace

OPERATOR_SCHEMA(MultiMomentumSGDUpdate)
    .FillUsing([](OpSchema& schema) { MultiUpdateSchema(schema, 1, 1, "MomentumSGDUpdate"); })
    .Arg<float>("momentum", "(default 0) The share of the last step that is kept.")
    .Arg<int>("nesterov", "(default 0) 1 for Nesterov's form.")
    .Input(1, "moments", "n momenta, shaped like the gradients; then lr, and so on.");
OPERATOR_SCHEMA(MultiAdam)
    .FillUsing([](OpSchema& schema) { MultiUpdateSchema(schema, 2, 2, "Adam"); })
    .Arg<float>("beta1", "(default 0.9) The share of the first moment that is kept.")
    .Arg<float>("beta2", "(default 0.999) The share of the second moment that is kept.")
    .Arg<float>("epsilon", "(default 1e-5) Added to the divisor.")
    .Arg<bool>(
        "decoupled_weight_decay",
        "(default false) weight_decay * lr * param is added to the parameter, not to the gradient.")
    .Input(1, "moments",
           "n first and n second moments, shaped like the gradients; then lr, iter (int64 of one "
           "element, on the host), and so on.");
OPERATOR_SCHEMA(MultiAdagrad)
    .FillUsing([](OpSchema& schema) { MultiUpdateSchema(schema, 1, 1, "Adagrad"); })
    .Arg<float>("epsilon", "(default 1e-5) Added to the divisor.")
    .Arg<float>("decay", "(default 1) The share of the moment that is kept.")
    .Input(1, "moments", "n sums of squares, shaped like the gradients; then lr, and so on.");
OPERATOR_SCHEMA(MultiRmsProp)
    .FillUsing([](OpSchema& schema) {
      MultiUpdateSchema(schema, 2, 1, "RmsProp, and the addition of its step,");
    })
    .Arg<float>("decay", "(default 0.9) The share of the mean squares that is kept.")
    .Arg<float>("momentum", "(default 0) The share of the last step that is kept.")
    .Arg<float>("epsilon", "(default 1e-5) Added under the root.")
    .Input(1, "states",
           "n mean squares and n last steps, shaped like the gradients; then lr, and so on.");
SHOULD_NOT_DO_GRADIENT(MultiMomentumSGDUpdate);
SHOULD_NOT_DO_GRADIENT(MultiAdam);
SHOULD_NOT_DO_GRADIENT(MultiAdagrad);
SHOULD_NOT_DO_GRADIENT(MultiRmsProp);

}  // namespace caffe2
