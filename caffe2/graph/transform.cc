#include "caffe2/graph/transform.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "caffe2/core/logging.h"
#include "caffe2/core/nested_net.h"
#include "caffe2/graph/dataflow.h"
#include "caffe2/graph/fusion.h"
#include "caffe2/graph/inference.h"

namespace caffe2 {
namespace {

// True if the outputs depend on inputs and arguments alone and the operator has no other effects.
bool IsPure(const std::string& type) {
  static const std::set<std::string> types = {
      "Abs",       "Add",     "AveragePool", "Cast",    "Concat",  "Conv",      "Copy",
      "Div",       "Exp",     "ExpandDims",  "FC",      "Flatten", "LRN",       "LearningRate",
      "LeakyRelu", "Log",     "MatMul",      "MaxPool", "Mul",     "NCHW2NHWC", "NHWC2NCHW",
      "Negative",  "Relu",    "Reshape",     "Scale",   "Sigmoid", "Softmax",   "Split",
      "Sqrt",      "Squeeze", "Sub",         "Sum",     "Tanh",    "Transpose",
  };
  return types.count(type) != 0;
}

// A key of everything that decides the outputs of an operator. Versions of a blob are told apart by
// how often it was written before.
std::string Meaning(const OperatorDef& op, const std::map<std::string, int>& writes) {
  OperatorDef meaning = op;
  meaning.clear_name();
  meaning.clear_output();
  meaning.clear_control_input();
  meaning.clear_debug_info();
  for (std::string& input : *meaning.mutable_input()) {
    const auto it = writes.find(input);
    input += "#" + std::to_string(it == writes.end() ? 0 : it->second);
  }
  std::sort(meaning.mutable_arg()->begin(), meaning.mutable_arg()->end(),
            [](const Argument& a, const Argument& b) { return a.name() < b.name(); });
  meaning.add_output(std::to_string(op.output_size()));
  return meaning.SerializeAsString();
}

std::map<std::string, int> CountWrites(const NetDef& net) {
  std::map<std::string, int> writes;
  for (const OperatorDef& op : net.op()) {
    for (const std::string& output : op.output()) ++writes[output];
  }
  for (const std::string& input : net.external_input()) ++writes[input];
  return writes;
}

using Transform = std::function<void(NetDef*)>;

const std::map<std::string, Transform>& Transforms() {
  static const auto* transforms = new std::map<std::string, Transform>{
      {"CommonSubexpressionElimination", [](NetDef* net) { EliminateCommonSubexpressions(net); }},
      {"FuseOperators", [](NetDef* net) { FuseOperators(net, FusionOptions()); }},
      {"RemoveIdentities", [](NetDef* net) { RemoveIdentities(net); }},
  };
  return *transforms;
}

}  // namespace

int EliminateCommonSubexpressions(NetDef* net) {
  if (std::any_of(net->op().begin(), net->op().end(), HasNetArgument)) return 0;
  const std::map<std::string, int> all_writes = CountWrites(*net);
  const std::set<std::string> external(net->external_output().begin(),
                                       net->external_output().end());
  auto written_once = [&](const OperatorDef& op) {
    return std::all_of(op.output().begin(), op.output().end(),
                       [&](const std::string& output) { return all_writes.at(output) == 1; });
  };
  auto is_external = [&](const OperatorDef& op) {
    return std::any_of(op.output().begin(), op.output().end(),
                       [&](const std::string& output) { return external.count(output) != 0; });
  };

  std::map<std::string, int> writes;
  std::map<std::string, int> first_of;  // meaning -> operator
  std::map<std::string, std::string> replaced;
  std::vector<bool> removed(net->op_size(), false);
  for (int i = 0; i < net->op_size(); ++i) {
    OperatorDef* op = net->mutable_op(i);
    for (auto* inputs : {op->mutable_input(), op->mutable_control_input()}) {
      for (std::string& input : *inputs) {
        const auto it = replaced.find(input);
        if (it != replaced.end()) input = it->second;
      }
    }
    if (IsPure(op->type()) && written_once(*op)) {
      const auto [it, is_first] = first_of.emplace(Meaning(*op, writes), i);
      if (!is_first && !is_external(*op)) {
        for (int k = 0; k < op->output_size(); ++k) {
          replaced[op->output(k)] = net->op(it->second).output(k);
        }
        removed[i] = true;
      }
    }
    for (const std::string& output : op->output()) ++writes[output];
  }
  RemoveOperators(removed, net);
  return static_cast<int>(std::count(removed.begin(), removed.end(), true));
}

NetDef ApplyTransform(const std::string& name, const NetDef& net) {
  const auto it = Transforms().find(name);
  if (it == Transforms().end()) {
    std::string known;
    for (const std::string& key : TransformNames()) known += " " + key;
    CAFFE_THROW("unknown transform ", name, "; known:", known);
  }
  NetDef transformed = net;
  it->second(&transformed);
  return transformed;
}

std::vector<std::string> TransformNames() {
  std::vector<std::string> names;
  for (const auto& entry : Transforms()) names.push_back(entry.first);
  return names;
}

}  // namespace caffe2
