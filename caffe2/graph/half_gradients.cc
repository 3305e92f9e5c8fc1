#include "caffe2/graph/half_gradients.h"

#include <algorithm>
#include <set>
#include <string>

#include "caffe2/core/argument.h"
#include "caffe2/core/logging.h"

namespace caffe2 {
namespace {

using Names = std::set<std::string>;

bool Contains(const google::protobuf::RepeatedPtrField<std::string>& list,
              const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// What takes gradients of any type.
bool TakesAnyType(const OperatorDef& op, int update, int position) {
  static const Names types = {"CheckFinite", "AllreduceBucket", "AwaitCollectives", "NCCLReduce",
                              "Copy"};
  return position == update || types.count(op.type()) != 0;
}

// A convolution's gradient that would have to convert that of its filter, and nothing else.
bool FormsAsFloat(const OperatorDef& op, const std::string& gradient) {
  const ArgumentHelper arguments(op);
  const bool no_bias =
      op.type() != "ConvGradient" || arguments.GetSingleArgument<bool>("no_bias", false);
  return arguments.GetSingleArgument<bool>("float_gradients", false) && no_bias &&
         op.output(0) == gradient;
}

// The operator that forms the gradient, if all others that touch it take any type; -1 otherwise.
int FormerOf(const NetDef& net, const std::string& gradient, int update) {
  int former = -1;
  for (int i = 0; i < net.op_size(); ++i) {
    const OperatorDef& op = net.op(i);
    if (!Contains(op.input(), gradient) && !Contains(op.output(), gradient)) continue;
    if (former < 0 && FormsAsFloat(op, gradient)) {
      former = i;
    } else if (!TakesAnyType(op, update, i)) {
      VLOG(1) << gradient << " stays float: " << op.type() << " touches it";
      return -1;
    }
  }
  return former;
}

void RemoveArgument(const std::string& name, OperatorDef* op) {
  auto* arguments = op->mutable_arg();
  for (int i = arguments->size() - 1; i >= 0; --i) {
    if (arguments->Get(i).name() == name) arguments->DeleteSubrange(i, 1);
  }
}

// The part of a fused update, and of its group, that is about some of the parameters.
ParameterArena GroupOf(const ParameterArena& group, const std::vector<int>& chosen) {
  ParameterArena part;
  part.device = group.device;
  part.copy_type = group.copy_type;
  part.states.resize(group.states.size());
  for (const int i : chosen) {
    part.gradients.push_back(group.gradients[i]);
    part.params.push_back(group.params[i]);
    part.copies.push_back(group.copies[i]);
    for (size_t s = 0; s < group.states.size(); ++s) part.states[s].push_back(group.states[s][i]);
  }
  const auto& copies = part.copies;
  if (std::all_of(copies.begin(), copies.end(), [](const auto& c) { return c.empty(); })) {
    part.copies.clear();
  }
  return part;
}
OperatorDef UpdateOf(const OperatorDef& whole, const ParameterArena& group,
                     const std::vector<int>& chosen) {
  const int n = static_cast<int>(group.params.size());
  const int kinds = static_cast<int>(group.states.size());
  const auto decay = ArgumentHelper(whole).GetRepeatedArgument<float>("weight_decay");
  OperatorDef part = whole;
  part.clear_input();
  part.clear_output();
  const auto add_inputs = [&](int first) {
    for (const int i : chosen) part.add_input(whole.input(first + i));
  };
  for (int kind = 0; kind <= kinds; ++kind) add_inputs(kind * n);
  // What steers it lies before the parameters, the flags behind them.
  const auto params = std::find(whole.input().begin(), whole.input().end(), group.params[0]);
  const int first_param = static_cast<int>(params - whole.input().begin());
  for (int i = (kinds + 1) * n; i < first_param; ++i) part.add_input(whole.input(i));
  add_inputs(first_param);
  for (int i = first_param + n; i < whole.input_size(); ++i) part.add_input(whole.input(i));
  for (int kind = 0; kind <= kinds; ++kind) {
    for (const int i : chosen) part.add_output(whole.output(kind * n + i));
  }
  std::vector<float> own_decay;
  std::vector<int> copied;
  for (size_t k = 0; k < chosen.size(); ++k) {
    own_decay.push_back(decay[chosen[k]]);
    const std::string& copy = group.copies[chosen[k]];
    if (copy.empty()) continue;
    copied.push_back(static_cast<int>(k));
    part.add_output(copy);
  }
  SetArgument(&part, "weight_decay", own_decay);
  SetArgument(&part, "copied", copied);
  return part;
}

// The part of a bucket whose gradients are in `half`, or those that are not; behind the whole one's
// inputs, the common world comes first.
OperatorDef BucketOf(const OperatorDef& whole, const Names& half, bool in_half) {
  OperatorDef part = whole;
  part.clear_input();
  part.clear_output();
  part.add_input(whole.input(0));
  for (int i = 1; i < whole.input_size(); ++i) {
    if ((half.count(whole.input(i)) != 0) != in_half) continue;
    part.add_input(whole.input(i));
    part.add_output(whole.output(i - 1));
  }
  return part;
}

// Two buckets, the one with the last gradient last: what waits for the bucket waits for that.
std::vector<OperatorDef> DivideBucket(const OperatorDef& whole, const Names& half) {
  const bool last = half.count(whole.input(whole.input_size() - 1)) != 0;
  OperatorDef first = BucketOf(whole, half, !last), second = BucketOf(whole, half, last);
  if (first.output_size() == 0) return {second};
  second.set_name(whole.name() + "_rest");
  second.clear_control_input();
  second.add_control_input(first.output(first.output_size() - 1));
  return {first, second};
}

// A group's filters, the operators that form their gradients, and its other parameters.
struct Division {
  int update = -1;
  std::vector<int> filters, rest, formers;
};
Division DivideGroup(const NetDef& net, const ParameterArena& group) {
  Division division;
  for (int i = 0; division.update < 0 && i < net.op_size(); ++i) {
    const bool fused = net.op(i).type().rfind("Multi", 0) == 0;
    if (fused && Contains(net.op(i).output(), group.params[0])) division.update = i;
  }
  CAFFE_ENFORCE_GE(division.update, 0, "no operator updates ", group.params[0]);
  for (size_t p = 0; p < group.params.size(); ++p) {
    const bool has_copy = !group.copies.empty() && !group.copies[p].empty();
    const int former = has_copy ? FormerOf(net, group.gradients[p], division.update) : -1;
    (former >= 0 ? division.filters : division.rest).push_back(static_cast<int>(p));
    if (former >= 0) division.formers.push_back(former);
  }
  return division;
}

}  // namespace

int KeepFilterGradientsIn16Bit(NetDef* net, std::vector<ParameterArena>* groups) {
  std::vector<ParameterArena> divided;
  std::map<int, std::vector<OperatorDef>> replaced;
  Names half;
  for (const ParameterArena& group : *groups) {
    const Division division = DivideGroup(*net, group);
    if (division.filters.empty()) {
      divided.push_back(group);
      continue;
    }
    for (const int former : division.formers) {
      RemoveArgument("float_gradients", net->mutable_op(former));
      half.insert(net->op(former).output(0));
    }
    for (const auto* part : {&division.filters, &division.rest}) {
      if (part->empty()) continue;
      replaced[division.update].push_back(UpdateOf(net->op(division.update), group, *part));
      divided.push_back(GroupOf(group, *part));
      if (part == &division.filters) divided.back().gradient_type = group.copy_type;
    }
  }
  if (half.empty()) return 0;
  NetDef result = *net;
  result.clear_op();
  for (int i = 0; i < net->op_size(); ++i) {
    const bool bucket = net->op(i).type() == "AllreduceBucket";
    std::vector<OperatorDef> ops = {net->op(i)};
    if (replaced.count(i)) ops = replaced[i];
    if (bucket) ops = DivideBucket(net->op(i), half);
    for (const OperatorDef& op : ops) *result.add_op() = op;
  }
  *net = std::move(result);
  *groups = std::move(divided);
  return static_cast<int>(half.size());
}

}  // namespace caffe2
