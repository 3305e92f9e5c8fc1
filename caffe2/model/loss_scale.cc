#include "caffe2/model/loss_scale.h"

#include "caffe2/core/logging.h"

namespace caffe2 {
namespace {

constexpr char kScale[] = "loss_scale", kGoodSteps[] = "loss_scale_good_steps",
               kFoundInf[] = "found_inf";

bool IsIn(const std::string& name, const std::string& scope) {
  return name.compare(0, scope.size(), scope) == 0;
}

std::string AddScalar(ModelHelper* model, const std::string& name, const Argument& value,
                      TensorProto::DataType type) {
  const std::string scoped = model->Scoped(name);
  model->AddInitOperator(
      "ConstantFill", {}, {scoped},
      {MakeArgument("shape", std::vector<int64_t>{1}), value, MakeArgument<int>("dtype", type)});
  model->net()->add_external_input(scoped);
  return scoped;
}

}  // namespace

std::string AddLossScale(ModelHelper* model, const LossScaleOptions& options) {
  CAFFE_ENFORCE(options.scale > 0, "the loss scale must be positive, found ", options.scale);
  model->AddScaledReplica();
  const std::string scale =
      AddScalar(model, kScale, MakeArgument("value", options.scale), TensorProto::FLOAT);
  if (options.dynamic) {
    model->AddOptimizerState(scale);
    model->AddOptimizerState(
        AddScalar(model, kGoodSteps, MakeArgument("value", 0), TensorProto::INT32));
  }
  return scale;
}

void AddGradientUnscaling(ModelHelper* model, const LossScaleOptions& options) {
  for (const ModelHelper::ScaledReplica& replica : model->scaled_replicas()) {
    const DeviceScope device(model, replica.device);
    const std::string scale = replica.scope + kScale, found_inf = replica.scope + kFoundInf;
    std::vector<std::string> inputs = {scale}, outputs = {found_inf};
    for (const std::string& param : model->params()) {
      if (!IsIn(param, replica.scope) || model->gradients().count(param) == 0) continue;
      inputs.push_back(model->Gradient(param));
      outputs.push_back(model->Gradient(param));
    }
    CAFFE_ENFORCE(inputs.size() > 1U, "there are no gradients to unscale under ", replica.scope);
    model->AddOperator("CheckFiniteAndUnscale", inputs, outputs);
    if (!options.dynamic) continue;
    const std::string good_steps = replica.scope + kGoodSteps;
    model->AddOperator("UpdateLossScale", {scale, good_steps, found_inf}, {scale, good_steps},
                       {MakeArgument("growth_interval", options.growth_interval)});
  }
}

std::string FoundInfOf(const ModelHelper& model, const std::string& param) {
  for (const ModelHelper::ScaledReplica& replica : model.scaled_replicas()) {
    if (IsIn(param, replica.scope)) return replica.scope + kFoundInf;
  }
  return "";
}

}  // namespace caffe2
