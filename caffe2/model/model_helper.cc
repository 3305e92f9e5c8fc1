#include "caffe2/model/model_helper.h"

#include <algorithm>
#include <set>

#include "caffe2/core/logging.h"
#include "caffe2/core/random.h"
#include "caffe2/graph/dataflow.h"

namespace caffe2 {
namespace {

OperatorDef& Append(NetDef* net, const DeviceOption& device, const std::string& type,
                    const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                    const std::vector<Argument>& args) {
  OperatorDef* op = net->add_op();
  *op = GradientMakerBase::CreateOperatorDef(type, "", inputs, outputs, args);
  *op->mutable_device_option() = device;
  return *op;
}

}  // namespace

ModelHelper::ModelHelper(const std::string& name, const Options& options)
    : options_(options), device_(options.device) {
  CAFFE_ENFORCE(options.order == "NCHW" || options.order == "NHWC",
                "order must be NCHW or NHWC, not ", options.order);
  const TensorProto::DataType type = options.compute_type;
  CAFFE_ENFORCE(
      type == TensorProto::FLOAT || type == TensorProto::FLOAT16 || type == TensorProto::BFLOAT16,
      "activations can be FLOAT, FLOAT16 or BFLOAT16, not ", TensorProto::DataType_Name(type));
  net_.set_name(name);
  param_init_net_.set_name(name + "_init");
}

OperatorDef& ModelHelper::AddOperator(const std::string& type,
                                      const std::vector<std::string>& inputs,
                                      const std::vector<std::string>& outputs,
                                      const std::vector<Argument>& args) {
  return Append(&net_, device_, type, inputs, outputs, args);
}

OperatorDef& ModelHelper::AddInitOperator(const std::string& type,
                                          const std::vector<std::string>& inputs,
                                          const std::vector<std::string>& outputs,
                                          const std::vector<Argument>& args) {
  return Append(&param_init_net_, device_, type, inputs, outputs, args);
}

std::string ModelHelper::CreateParameter(const std::string& name, const std::vector<int64_t>& shape,
                                         ParameterTag tag, const std::string& filler,
                                         const std::vector<Argument>& args) {
  const std::string scoped = Scoped(name);
  const bool taken = std::any_of(parameters_.begin(), parameters_.end(),
                                 [&](const Parameter& p) { return p.name == scoped; });
  CAFFE_ENFORCE(!taken, "model ", this->name(), " already has a parameter ", scoped);
  parameters_.push_back({scoped, tag, shape, device_, IsFrozen(name)});
  net_.add_external_input(scoped);
  if (options_.init_params) {
    OperatorDef& op = AddInitOperator(filler, {}, {scoped}, args);
    *op.add_arg() = MakeArgument("shape", shape);
    // Fillers that scale by fan-in or fan-out need to know the order of the axes.
    *op.add_arg() = MakeArgument("order", order());
  }
  return scoped;
}

std::vector<std::string> ModelHelper::NamesOf(std::initializer_list<ParameterTag> tags) const {
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters_) {
    if (std::find(tags.begin(), tags.end(), parameter.tag) != tags.end()) {
      names.push_back(parameter.name);
    }
  }
  return names;
}

std::vector<std::string> ModelHelper::params() const {
  return NamesOf({ParameterTag::kWeight, ParameterTag::kBias});
}

std::vector<std::string> ModelHelper::weights() const { return NamesOf({ParameterTag::kWeight}); }

std::vector<std::string> ModelHelper::computed_params() const {
  return NamesOf({ParameterTag::kComputed});
}

void ModelHelper::AddGradientOperators(const LossGradients& losses) {
  const int begin = net_.op_size();
  const auto all = caffe2::AddGradientOperators(&net_, losses);
  std::set<std::string> wanted;
  bool all_wanted = true;
  for (const Parameter& parameter : parameters_) {
    if (parameter.frozen) all_wanted = false;
    if (parameter.frozen || parameter.tag == ParameterTag::kComputed) continue;
    const auto found = all.find(parameter.name);
    if (found == all.end() || found->second.IsEmpty()) continue;
    gradients_[parameter.name] = found->second;
    wanted.insert({found->second.dense, found->second.indices, found->second.values});
  }
  if (!all_wanted) RemoveUnneeded(begin, wanted, &net_);
}

const std::string& ModelHelper::Gradient(const std::string& param) const {
  const auto found = gradients_.find(param);
  CAFFE_ENFORCE(found != gradients_.end() && found->second.IsDense(), "parameter ", param,
                " of model ", name(), " has no dense gradient");
  return found->second.dense;
}

NameScope::NameScope(ModelHelper* model, const std::string& name)
    : model_(model), outer_(model->name_scope_) {
  CAFFE_ENFORCE(!name.empty(), "a name scope needs a name");
  model->name_scope_ += name + "/";
}

DeviceScope::DeviceScope(ModelHelper* model, const DeviceOption& device)
    : model_(model), outer_(model->device_) {
  model->device_ = device;
}

void SetRandomSeeds(NetDef* net, uint64_t seed) {
  for (int i = 0; i < net->op_size(); ++i) {
    OperatorDef* op = net->mutable_op(i);
    if (!op->has_device_option() && net->has_device_option()) {
      // With an option of its own the operator no longer follows the net.
      *op->mutable_device_option() = net->device_option();
      op->mutable_device_option()->clear_random_seed();
    }
    DeviceOption* device = op->mutable_device_option();
    // Word i of the seed's random stream: neighbouring operators and neighbouring seeds get
    // unrelated numbers.
    if (!device->has_random_seed()) {
      device->set_random_seed(RandomGenerator(seed, static_cast<uint64_t>(i))());
    }
    uint64_t nested_seed = uint64_t{device->random_seed()} << 8;
    for (Argument& argument : *op->mutable_arg()) {
      if (argument.has_n()) SetRandomSeeds(argument.mutable_n(), nested_seed++);
    }
  }
}

}  // namespace caffe2
