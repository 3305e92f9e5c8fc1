#include "caffe2/model/optimizer.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "caffe2/core/argument.h"
#include "caffe2/core/logging.h"
#include "caffe2/model/loss_scale.h"

namespace caffe2 {
namespace {

constexpr char kIterationMutex[] = "iteration_mutex";

// "cpu" or "gpu0": the suffix of Caffe2's per-device blobs.
std::string DeviceSuffix(const DeviceOption& device) {
  if (device.device_type() == CPU) return "cpu";
  return MakeString("gpu", device.device_id());
}

// A float that is made once, for instance "ONE_0_0" (device type and id). Another value with the
// same prefix gets a name of its own: "wd_0_0_2".
std::string AddConstant(ModelHelper* model, const std::string& prefix, float value) {
  const DeviceOption device = model->device();
  const std::string first = model->Scoped(
      MakeString(prefix, "_", static_cast<int>(device.device_type()), "_", device.device_id()));
  const auto& ops = model->param_init_net()->op();
  std::string name = first;
  for (int number = 2;; ++number) {
    const auto maker = std::find_if(ops.begin(), ops.end(), [&](const OperatorDef& op) {
      return op.output_size() == 1 && op.output(0) == name;
    });
    if (maker == ops.end()) break;
    if (ArgumentHelper(*maker).GetSingleArgument<float>("value", 0) == value) return name;
    name = MakeString(first, "_", number);
  }
  model->AddInitOperator(
      "ConstantFill", {}, {name},
      {MakeArgument("shape", std::vector<int64_t>{1}), MakeArgument("value", value)});
  model->net()->add_external_input(name);
  return name;
}

// The arguments of the policy itself, whose names get a prefix.
std::vector<Argument> PolicyArguments(const std::string& prefix, const LearningRateOptions& rate) {
  std::vector<Argument> args = {MakeArgument(prefix + "policy", rate.policy)};
  const auto is_one_of = [&](std::initializer_list<const char*> policies) {
    return std::count(policies.begin(), policies.end(), rate.policy) > 0;
  };
  if (is_one_of({"step"})) args.push_back(MakeArgument(prefix + "stepsize", rate.stepsize));
  if (is_one_of({"step", "exp", "inv"})) args.push_back(MakeArgument(prefix + "gamma", rate.gamma));
  if (is_one_of({"inv", "poly"})) args.push_back(MakeArgument(prefix + "power", rate.power));
  if (is_one_of({"poly"})) args.push_back(MakeArgument(prefix + "max_iter", rate.max_iter));
  if (is_one_of({"cosine"})) {
    args.push_back(MakeArgument(prefix + "max_lr", 1.f));
    // The counter begins at 1; the next period, from full height, is never reached.
    args.push_back(MakeArgument(prefix + "period", rate.max_iter + 1));
  }
  return args;
}

// The arguments of `composite`: the warm-up, then the rates between the steps or the policy itself.
std::vector<Argument> CompositeArguments(const LearningRateOptions& rate) {
  std::vector<Argument> args = {MakeArgument("policy", std::string("composite"))};
  std::vector<int64_t> lengths;
  const auto add = [&](int64_t length, const LearningRateOptions& part, float scale) {
    const std::string prefix = MakeString("sub_policy_", lengths.size(), "_");
    for (const Argument& arg : PolicyArguments(prefix, part)) args.push_back(arg);
    args.push_back(MakeArgument(prefix + "lr_scale", scale));
    lengths.push_back(length);
  };
  const LearningRateOptions fixed;
  if (rate.warmup_iterations > 0) {
    LearningRateOptions warmup;
    warmup.policy = "linearWarmup";
    add(rate.warmup_iterations, warmup, 1.f);
    args.push_back(MakeArgument("sub_policy_0_num_iter", rate.warmup_iterations));
    args.push_back(MakeArgument("sub_policy_0_start_multiplier", rate.warmup_start));
  }
  if (rate.policy == "step" && !rate.steps.empty()) {
    int64_t begin = rate.warmup_iterations;
    float scale = 1.f;
    for (const int64_t step : rate.steps) {
      add(step - begin, fixed, scale);
      begin = step;
      scale *= rate.gamma;
    }
    add(1, fixed, scale);  // the last one stays
  } else {
    add(1, rate, 1.f);
  }
  args.push_back(MakeArgument("sub_policy_num_iters", lengths));
  return args;
}

// `optimizer` is Caffe2's class name. `sign` is 1 for *Update operators, which subtract the step,
// and -1 for operators that add it. The rate is one float on the host, also for operators of
// devices, which take it as an argument.
std::string AddLearningRate(ModelHelper* model, const std::string& optimizer, float sign,
                            const LearningRateOptions& options) {
  const std::string iteration = AddIteration(model);
  const std::string name =
      model->Scoped(optimizer + "_0_lr_" + DeviceSuffix(model->options().device));
  const bool plain = options.warmup_iterations == 0 && options.steps.empty();
  std::vector<Argument> args = plain ? PolicyArguments("", options) : CompositeArguments(options);
  args.push_back(MakeArgument("base_lr", sign * options.base));
  const DeviceScope host(model, DeviceOption());
  model->AddOperator("LearningRate", {iteration}, {name}, args);
  return name;
}

// Adds state of the parameter's shape, initially zero.
std::string AddState(ModelHelper* model, const std::string& param, const std::string& suffix) {
  const std::string name = param + suffix;
  model->AddInitOperator("ConstantFill", {param}, {name}, {MakeArgument("value", 0.f)});
  model->net()->add_external_input(name);
  model->AddOptimizerState(name);
  return name;
}

// Adds an update that is skipped if the parameter's gradient is not finite.
void AddUpdate(ModelHelper* model, const std::string& param, const std::string& type,
               std::vector<std::string> inputs, const std::vector<std::string>& outputs,
               const std::vector<Argument>& args) {
  const std::string found_inf = FoundInfOf(*model, param);
  if (!found_inf.empty()) inputs.push_back(found_inf);
  model->AddOperator(type, inputs, outputs, args);
}

std::set<std::string> WeightsOf(const ModelHelper& model) {
  const std::vector<std::string> weights = model.weights();
  return {weights.begin(), weights.end()};
}

// Calls update(parameter, gradient) with the parameter's device as the current one.
void ForEachParameter(ModelHelper* model,
                      const std::function<void(const std::string&, const std::string&)>& update) {
  for (const auto& [param, gradient] : model->gradients()) {
    CAFFE_ENFORCE(gradient.IsDense(), "the gradient of ", param, " is not dense");
  }
  for (const Parameter& parameter : model->parameters()) {
    if (parameter.tag == ParameterTag::kComputed) continue;
    if (model->gradients().count(parameter.name) == 0) continue;
    const DeviceScope device(model, parameter.device);
    update(parameter.name, model->Gradient(parameter.name));
  }
}

// Adds the LARS rates. Returns them by parameter.
std::map<std::string, std::string> AddLarsRates(ModelHelper* model, const std::string& rate,
                                                const SgdOptions& options) {
  // No bound in practice; finite, so that a gradient of zeros makes no step.
  constexpr float kMaxFactor = 1e10f;
  std::set<std::string> scaled;
  for (const Parameter& parameter : model->parameters()) {
    const bool is_norm = parameter.shape.size() < 2;
    if (parameter.tag == ParameterTag::kWeight && !is_norm) scaled.insert(parameter.name);
  }
  std::map<std::string, std::string> rates;
  ForEachParameter(model, [&](const std::string& param, const std::string& gradient) {
    if (scaled.count(param) == 0) return;
    const std::string decay = AddConstant(model, "lars_decay", options.lars_decay);
    const std::string trust = AddConstant(model, "lars_trust", options.lars_trust);
    const std::string max = AddConstant(model, "lars_max", kMaxFactor);
    rates[param] = param + "_lars_rate";
    model->AddOperator("Lars", {param, gradient, decay, trust, max, rate}, {rates[param]},
                       {MakeArgument("offset", 0.f), MakeArgument("lr_min", 0.f)});
  });
  return rates;
}

}  // namespace

std::string AddIteration(ModelHelper* model) {
  const std::string iteration = kOptimizerIteration, mutex = kIterationMutex;
  const auto& state = model->optimizer_state();
  if (std::find(state.begin(), state.end(), iteration) != state.end()) return iteration;
  const DeviceScope cpu(model, DeviceOption());
  model->AddInitOperator(
      "ConstantFill", {}, {iteration},
      {MakeArgument("shape", std::vector<int64_t>{1}), MakeArgument("value", int64_t{0}),
       MakeArgument<int>("dtype", TensorProto::INT64)});
  model->AddInitOperator("CreateMutex", {}, {mutex});
  model->net()->add_external_input(iteration);
  model->net()->add_external_input(mutex);
  model->AddOperator("AtomicIter", {mutex, iteration}, {iteration});
  model->AddOptimizerState(iteration);
  return iteration;
}

void AddGradientClipping(ModelHelper* model, float max_norm,
                         const std::vector<std::string>& scopes) {
  for (const std::string& scope : scopes) {
    std::vector<std::string> gradients;
    DeviceOption place;
    ForEachParameter(model, [&](const std::string& param, const std::string& gradient) {
      if (!param.starts_with(scope)) return;
      gradients.push_back(gradient);
      place = model->device();
    });
    CAFFE_ENFORCE(!gradients.empty(), "there are no gradients to clip under ", scope);
    std::vector<std::string> outputs = gradients;
    outputs.push_back(scope + "gradient_norm");
    const DeviceScope device(model, place);
    model->AddOperator("ClipByGlobalNorm", gradients, outputs,
                       {MakeArgument("max_norm", max_norm)});
  }
}

void AddWeightDecay(ModelHelper* model, float weight_decay) {
  if (weight_decay == 0.f) return;
  const std::set<std::string> decaying = WeightsOf(*model);
  ForEachParameter(model, [&](const std::string& param, const std::string& gradient) {
    if (decaying.count(param) == 0) return;
    const std::string one = AddConstant(model, "ONE", 1.f);
    const std::string decay = AddConstant(model, "wd", weight_decay);
    model->AddOperator("WeightedSum", {gradient, one, param, decay}, {gradient});
  });
}

std::string BuildSgd(ModelHelper* model, const SgdOptions& options) {
  // A plain step is a WeightedSum, which cannot be skipped.
  const bool plain = options.momentum == 0.f && model->scaled_replicas().empty();
  const std::string rate =
      AddLearningRate(model, "SgdOptimizer", plain ? -1.f : 1.f, options.learning_rate);
  std::map<std::string, std::string> lars_rates;
  if (options.lars_trust > 0) {
    lars_rates = AddLarsRates(model, rate, options);
    AddWeightDecay(model, options.lars_decay);
  }
  ForEachParameter(model, [&](const std::string& param, const std::string& gradient) {
    const auto own = lars_rates.find(param);
    const std::string& own_rate = own == lars_rates.end() ? rate : own->second;
    if (plain) {
      const std::string one = AddConstant(model, "ONE", 1.f);
      model->AddOperator("WeightedSum", {param, one, gradient, own_rate}, {param});
      return;
    }
    const std::string momentum = AddState(model, param, "_momentum");
    AddUpdate(
        model, param, "MomentumSGDUpdate", {gradient, momentum, own_rate, param},
        {gradient, momentum, param},
        {MakeArgument("momentum", options.momentum), MakeArgument("nesterov", options.nesterov)});
  });
  return rate;
}

std::string BuildAdam(ModelHelper* model, const AdamOptions& options) {
  const std::string rate = AddLearningRate(model, "AdamOptimizer", -1.f, options.learning_rate);
  const std::set<std::string> weights = WeightsOf(*model);
  ForEachParameter(model, [&](const std::string& param, const std::string& gradient) {
    const std::string first = AddState(model, param, "_first_moment");
    const std::string second = AddState(model, param, "_second_moment");
    std::vector<Argument> args = {MakeArgument("beta1", options.beta1),
                                  MakeArgument("beta2", options.beta2),
                                  MakeArgument("epsilon", options.epsilon)};
    if (options.weight_decay != 0) {  // also for biases, so that all updates can be fused
      args.push_back(
          MakeArgument("weight_decay", weights.count(param) ? options.weight_decay : 0.f));
      args.push_back(MakeArgument("decoupled_weight_decay", true));
    }
    AddUpdate(model, param, "Adam", {param, first, second, gradient, rate, kOptimizerIteration},
              {param, first, second}, args);
  });
  return rate;
}

std::string BuildAdagrad(ModelHelper* model, const AdagradOptions& options) {
  const std::string rate = AddLearningRate(model, "AdagradOptimizer", -1.f, options.learning_rate);
  ForEachParameter(model, [&](const std::string& param, const std::string& gradient) {
    const std::string sum = AddState(model, param, "_squared_sum");
    AddUpdate(model, param, "Adagrad", {param, sum, gradient, rate}, {param, sum},
              {MakeArgument("epsilon", options.epsilon)});
  });
  return rate;
}

std::string BuildRmsProp(ModelHelper* model, const RmsPropOptions& options) {
  const std::string rate = AddLearningRate(model, "RmsPropOptimizer", -1.f, options.learning_rate);
  ForEachParameter(model, [&](const std::string& param, const std::string& gradient) {
    const std::string one = AddConstant(model, "ONE", 1.f);
    const std::string square = AddState(model, param, "_mean_squares");
    const std::string momentum = AddState(model, param, "_momentum");
    // The operator turns the gradient into the step, which is then added.
    AddUpdate(model, param, "RmsProp", {gradient, square, momentum, rate},
              {gradient, square, momentum},
              {MakeArgument("decay", options.decay), MakeArgument("momentum", options.momentum),
               MakeArgument("epsilon", options.epsilon)});
    model->AddOperator("WeightedSum", {param, one, gradient, one}, {param});
  });
  return rate;
}

}  // namespace caffe2
