#include "caffe2/graph/control_gradient.h"

#include <algorithm>
#include <set>

#include "caffe2/core/logging.h"
#include "caffe2/core/nested_net.h"
#include "caffe2/graph/gradient.h"

namespace caffe2 {
namespace {

// The device of the net, or else of the first operator in it or its subnets that names one; null if
// none does.
const DeviceOption* FirstDevice(const NetDef& net) {
  if (net.has_device_option()) return &net.device_option();
  for (const OperatorDef& op : net.op()) {
    if (op.has_device_option()) return &op.device_option();
    for (const Argument& argument : op.arg()) {
      const DeviceOption* device = argument.has_n() ? FirstDevice(argument.n()) : nullptr;
      if (device != nullptr) return device;
    }
  }
  return nullptr;
}

OperatorDef PlacedOperator(const OperatorDef& def, const NetDef& near) {
  OperatorDef placed = def;
  placed.set_is_gradient_op(true);
  // An empty option means the host. Without an option the operator would get the device of the
  // operator that is differentiated.
  const DeviceOption* device = FirstDevice(near);
  *placed.mutable_device_option() = device == nullptr ? DeviceOption() : *device;
  return placed;
}

}  // namespace

ControlGradientMaker::Nested ControlGradientMaker::Differentiate(
    const NetDef& net, const std::map<std::string, std::string>& seeds) {
  const Operands operands = OperandsOf(net);
  std::set<std::string> touched(operands.reads.begin(), operands.reads.end());
  touched.insert(operands.writes.begin(), operands.writes.end());
  LossGradients losses;
  Nested nested;
  for (const auto& [blob, gradient] : seeds) {
    if (touched.count(blob)) {
      losses.emplace_back(blob, gradient);
    } else {
      nested.gradients[blob].dense = gradient;
    }
  }
  BackwardPass pass = GetBackwardPass(net, losses);
  nested.ops = std::move(pass.ops);
  nested.gradients.insert(pass.input_gradients.begin(), pass.input_gradients.end());
  return nested;
}

NetDef ControlGradientMaker::NetArgument(const std::string& name) const {
  const Argument* argument = FindArgument(def_, name);
  if (argument != nullptr) return argument->n();
  NetDef net;
  net.set_name(name);
  return net;
}

NetDef ControlGradientMaker::GradientNet(const NetDef& forward,
                                         const std::vector<OperatorDef>& ops) {
  NetDef net;
  net.set_name(forward.name() + "_grad");
  net.set_type(forward.type());
  if (forward.has_device_option()) *net.mutable_device_option() = forward.device_option();
  for (const OperatorDef& op : ops) *net.add_op() = op;
  return net;
}

std::map<std::string, std::string> ControlGradientMaker::OutputGradients() const {
  std::map<std::string, std::string> gradients;
  for (int i = 0; i < def_.output_size(); ++i) {
    if (!GradOut(i).IsEmpty()) gradients[O(i)] = GO(i);
  }
  return gradients;
}

std::vector<int> ControlGradientMaker::DistinctInputs(int begin) const {
  std::set<std::string> seen;
  std::vector<int> indices;
  for (int i = begin; i < def_.input_size(); ++i) {
    if (seen.insert(I(i)).second) indices.push_back(i);
  }
  return indices;
}

OperatorDef ControlGradientMaker::Copy(const std::string& from, const std::string& to,
                                       const NetDef& near) {
  return PlacedOperator(CreateOperatorDef("Copy", "", {from}, {to}), near);
}

OperatorDef ControlGradientMaker::Zeros(const std::string& like, const std::string& to,
                                        const NetDef& near) {
  return PlacedOperator(
      CreateOperatorDef("ConstantFill", "", {like}, {to}, {MakeArgument("value", 0.f)}), near);
}

std::string ControlGradientMaker::Dense(const GradientWrapper& gradient,
                                        const std::string& of) const {
  CAFFE_ENFORCE(gradient.IsDense(), "the gradient of blob ", of,
                " is sparse, and cannot leave the net inside ", def_.type());
  return gradient.dense;
}

void ControlGradientMaker::ListOperands(OperatorDef* op) {
  const Operands operands = OperandsOf(*op);
  *op->mutable_input() = {operands.reads.begin(), operands.reads.end()};
  *op->mutable_output() = {operands.writes.begin(), operands.writes.end()};
}

}  // namespace caffe2
