// Builds a model as two NetDefs: one makes the parameters, the other runs in every iteration.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "caffe2/core/argument.h"
#include "caffe2/core/operator_gradient.h"
#include "caffe2/graph/gradient.h"
#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// What a parameter is for. Weights get weight decay, biases do not. Computed parameters (running
// statistics) are written by the forward pass and have no gradient.
enum class ParameterTag { kWeight, kBias, kComputed };

struct Parameter {
  std::string name;
  ParameterTag tag;
  std::vector<int64_t> shape;
  DeviceOption device = {};  // where it lies and is updated
  bool frozen = false;       // has no gradient (ModelHelper::Options::is_frozen)
};

// A model under construction. It only writes NetDefs; nothing runs. Not synchronised.
//
// The caller names blobs, under the current name scope. The layer functions (layers.h) add
// parameters and operators. AddGradientOperators then appends the backward pass, and the optimizers
// (optimizer.h) the update.
class ModelHelper {
 public:
  struct Options {
    // Storage order of images, "NCHW" or "NHWC". Filters follow it: {out, in / group, h, w} or
    // {out, h, w, in / group}.
    std::string order = "NCHW";
    // False for test and predictor nets, which use existing parameters: these are inputs of the
    // net, and param_init_net stays empty.
    bool init_params = true;
    // Builds layers that differ in training and testing (SpatialBN, Dropout) for testing.
    bool is_test = false;
    // Element type of activations: FLOAT, BFLOAT16, or FLOAT16 (GPUs only; see loss_scale.h).
    // Parameters and their gradients are float32; the operators convert them as they run.
    TensorProto::DataType compute_type = TensorProto::FLOAT;
    // Where operators run.
    DeviceOption device = {};
    // For training only a part of the model: true for the name (without scope) of a parameter that
    // keeps its value. Normalizations with a frozen scale use their running statistics and leave
    // them as they are. Null: no parameter is frozen.
    std::function<bool(const std::string&)> is_frozen = nullptr;
  };

  explicit ModelHelper(const std::string& name) : ModelHelper(name, Options()) {}
  // Throws EnforceNotMet for an unknown order or compute type.
  ModelHelper(const std::string& name, const Options& options);

  const std::string& name() const { return net_.name(); }
  const Options& options() const { return options_; }
  const std::string& order() const { return options_.order; }
  bool is_test() const { return options_.is_test; }
  NetDef* net() { return &net_; }
  NetDef* param_init_net() { return &param_init_net_; }
  const NetDef& net() const { return net_; }
  const NetDef& param_init_net() const { return param_init_net_; }

  // `name` under the current name scope: "cpu_0/conv1".
  std::string Scoped(const std::string& name) const { return name_scope_ + name; }

  // The device of operators that are added now: the innermost DeviceScope's, or options().device.
  const DeviceOption& device() const { return device_; }

  // Appends an operator to the net, on the current device. Blob names are full names. The reference
  // stays valid until the next operator is added.
  OperatorDef& AddOperator(const std::string& type, const std::vector<std::string>& inputs,
                           const std::vector<std::string>& outputs,
                           const std::vector<Argument>& args = {});
  // The same in param_init_net.
  OperatorDef& AddInitOperator(const std::string& type, const std::vector<std::string>& inputs,
                               const std::vector<std::string>& outputs,
                               const std::vector<Argument>& args = {});

  // Adds a parameter that the operator `filler` (XavierFill, ConstantFill, ...) makes, with `args`
  // in addition to shape and order. Returns its scoped name. Throws EnforceNotMet if the name is
  // taken.
  std::string CreateParameter(const std::string& name, const std::vector<int64_t>& shape,
                              ParameterTag tag, const std::string& filler,
                              const std::vector<Argument>& args = {});

  // All parameters in the order of creation.
  const std::vector<Parameter>& parameters() const { return parameters_; }
  // Names of the parameters with gradients (weights and biases), of the weights, and of the
  // computed parameters.
  std::vector<std::string> params() const;
  std::vector<std::string> weights() const;
  std::vector<std::string> computed_params() const;

  bool IsFrozen(const std::string& name) const {
    return options_.is_frozen != nullptr && options_.is_frozen(name);
  }

  // Appends the gradient operators of the losses. `losses` maps each loss to the blob of its
  // gradient, "" for ones. Afterwards gradients() holds the parameters' gradients. Operators that
  // only frozen parameters need are left out.
  void AddGradientOperators(const LossGradients& losses);
  // Parameter -> its gradient. A parameter is absent if it is frozen or the losses do not depend on
  // it.
  const std::map<std::string, GradientWrapper>& gradients() const { return gradients_; }
  // The dense gradient of a parameter. Throws EnforceNotMet, naming the parameter, if there is
  // none.
  const std::string& Gradient(const std::string& param) const;

  // Blobs that hold optimizer state (momentum, iteration). A checkpoint saves them with the
  // parameters.
  const std::vector<std::string>& optimizer_state() const { return optimizer_state_; }
  void AddOptimizerState(const std::string& blob) { optimizer_state_.push_back(blob); }

  // A replica whose loss is scaled (loss_scale.h): the name scope of its parameters, and its
  // device.
  struct ScaledReplica {
    std::string scope;
    DeviceOption device;
  };
  const std::vector<ScaledReplica>& scaled_replicas() const { return scaled_replicas_; }
  // Marks the current name scope and device as a scaled replica.
  void AddScaledReplica() { scaled_replicas_.push_back({name_scope_, device_}); }

 private:
  friend class NameScope;
  friend class DeviceScope;

  std::vector<std::string> NamesOf(std::initializer_list<ParameterTag> tags) const;

  Options options_;
  NetDef net_;
  NetDef param_init_net_;
  std::string name_scope_;
  DeviceOption device_;
  std::vector<Parameter> parameters_;
  std::map<std::string, GradientWrapper> gradients_;
  std::vector<std::string> optimizer_state_;
  std::vector<ScaledReplica> scaled_replicas_;
};

// While it lives, scoped names of the model begin with "<outer>/<name>/".
class NameScope {
 public:
  NameScope(ModelHelper* model, const std::string& name);
  ~NameScope() { model_->name_scope_ = outer_; }
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;

 private:
  ModelHelper* model_;
  std::string outer_;
};

// While it lives, operators of the model are added on `device`.
class DeviceScope {
 public:
  DeviceScope(ModelHelper* model, const DeviceOption& device);
  ~DeviceScope() { model_->device_ = outer_; }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  ModelHelper* model_;
  DeviceOption outer_;
};

// Gives every operator of the net a seed of its own (DeviceOption.random_seed), derived from `seed`
// and the operator's position. With the same seed, nets of the same operators draw the same random
// numbers. Operators that already have a seed keep it. The seeds in a subnet derive from the seed
// of the operator that runs it.
void SetRandomSeeds(NetDef* net, uint64_t seed);

}  // namespace caffe2
