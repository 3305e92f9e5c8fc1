#include "caffe2/graph/dataflow.h"

#include <algorithm>

#include "caffe2/core/argument.h"
#include "caffe2/core/logging.h"
#include "caffe2/core/nested_net.h"

namespace caffe2 {
namespace {

// Subnets see the blobs of the net around them without listing them as inputs.
void CollectNames(const NetDef& net, std::set<std::string>* names) {
  for (const OperatorDef& op : net.op()) {
    names->insert(op.input().begin(), op.input().end());
    names->insert(op.output().begin(), op.output().end());
    for (const Argument& argument : op.arg()) {
      if (argument.has_n()) CollectNames(argument.n(), names);
      for (const NetDef& nested : argument.nets()) CollectNames(nested, names);
    }
  }
}

bool HasBetween(const std::map<std::string, std::vector<int>>& positions, const std::string& blob,
                int first, int last) {
  const auto it = positions.find(blob);
  if (it == positions.end()) return false;
  const auto next = std::upper_bound(it->second.begin(), it->second.end(), first);
  return next != it->second.end() && *next < last;
}

}  // namespace

Dataflow::Dataflow(const NetDef& net, const std::set<std::string>& keep)
    : net_(&net), writers_(net.op_size()), readers_(net.op_size()), outside_(keep) {
  outside_.insert(net.external_output().begin(), net.external_output().end());
  std::map<std::string, std::pair<int, int>> current;  // blob -> operator and output
  for (int i = 0; i < net.op_size(); ++i) {
    const OperatorDef& op = net.op(i);
    auto read = [&](const std::string& blob) {
      reads_[blob].push_back(i);
      const auto it = current.find(blob);
      if (it == current.end()) return -1;
      const auto [writer, output] = it->second;
      std::vector<int>& readers = readers_[writer][output];
      if (readers.empty() || readers.back() != i) readers.push_back(i);
      return writer;
    };
    for (const std::string& blob : op.input()) writers_[i].push_back(read(blob));
    for (const std::string& blob : op.control_input()) read(blob);
    readers_[i].resize(op.output_size());
    for (int j = 0; j < op.output_size(); ++j) {
      current[op.output(j)] = {i, j};
      writes_[op.output(j)].push_back(i);
    }
    if (RunsNestedNets(op)) {
      const Operands operands = OperandsOf(op);
      for (const std::string& blob : operands.reads) reads_[blob].push_back(i);
      for (const std::string& blob : operands.writes) {
        writes_[blob].push_back(i);
        // From here on no operator's output holds this value, unless this operator lists it.
        if (std::count(op.output().begin(), op.output().end(), blob) == 0) current.erase(blob);
      }
    }
    for (const Argument& argument : op.arg()) {
      if (argument.has_n()) CollectNames(argument.n(), &nested_);
      for (const NetDef& nested : argument.nets()) CollectNames(nested, &nested_);
    }
  }
}

bool Dataflow::Escapes(int op, int output) const {
  const std::string& blob = net_->op(op).output(output);
  return nested_.count(blob) || (outside_.count(blob) && writes_.at(blob).back() == op);
}

std::string Dataflow::WhyShared(int op, int output, int reader) const {
  const std::string& blob = net_->op(op).output(output);
  if (Escapes(op, output)) return blob + " is read from outside the net";
  for (const int other : ReadersOf(op, output)) {
    if (other != reader) {
      return MakeString(blob, " is also read by operator ", other, ", ", net_->op(other).type());
    }
  }
  return "";
}

bool Dataflow::IsWrittenBetween(const std::string& blob, int first, int last) const {
  return HasBetween(writes_, blob, first, last);
}

bool Dataflow::IsTouchedBetween(const std::string& blob, int first, int last) const {
  return HasBetween(writes_, blob, first, last) || HasBetween(reads_, blob, first, last);
}

const DeviceOption& DeviceOptionOf(const OperatorDef& op, const NetDef& net) {
  return op.has_device_option() ? op.device_option() : net.device_option();
}

bool IsConvGradient(const OperatorDef& op) {
  static const std::set<std::string> types = {"ConvGradient", "Conv1DGradient", "Conv2DGradient",
                                              "Conv3DGradient"};
  return types.count(op.type()) != 0;
}

int ConvInputGradientOf(const OperatorDef& op) {
  const bool no_bias = ArgumentHelper(op).GetSingleArgument<bool>("no_bias", false);
  const int last = op.output_size() - 1;
  return op.input_size() == 3 && last == (no_bias ? 1 : 2) ? last : -1;
}

bool IsPointwise(const OperatorDef& conv) {
  const ArgumentHelper arguments(conv);
  // One size for each side, or for three axes.
  for (const char* name : {"kernels", "strides", "pads", "stride_h", "stride_w", "pad_t", "pad_l",
                           "pad_b", "pad_r", "legacy_pad"}) {
    if (arguments.HasArgument(name)) return false;
  }
  return arguments.GetSingleArgument<int>("kernel", 0) == 1 &&
         arguments.GetSingleArgument<int>("stride", 1) == 1 &&
         arguments.GetSingleArgument<int>("pad", 0) == 0 &&
         arguments.GetSingleArgument<int>("group", 1) == 1;
}

std::string OrderOf(const OperatorDef& op) {
  return ArgumentHelper(op).GetSingleArgument<std::string>("order", "NCHW");
}

void RemoveOperators(const std::vector<bool>& removed, NetDef* net) {
  int kept = 0;
  for (int i = 0; i < net->op_size(); ++i) {
    if (removed[i]) continue;
    if (kept != i) net->mutable_op()->SwapElements(kept, i);
    ++kept;
  }
  net->mutable_op()->DeleteSubrange(kept, net->op_size() - kept);
}

void RemoveUnneeded(int begin, std::set<std::string> wanted, NetDef* net) {
  std::vector<bool> removed(net->op_size(), false);
  for (int i = net->op_size() - 1; i >= begin; --i) {
    const Operands operands = OperandsOf(net->op(i));
    const auto is_wanted = [&](const std::string& blob) { return wanted.count(blob) != 0; };
    removed[i] = std::none_of(operands.writes.begin(), operands.writes.end(), is_wanted);
    if (!removed[i]) wanted.insert(operands.reads.begin(), operands.reads.end());
  }
  RemoveOperators(removed, net);
}

}  // namespace caffe2
