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

// Operators that take gradients of any type.
bool TakesAnyType(const OperatorDef& op, int update, int position) {
  static const Names types = {"CheckFinite", "AllreduceBucket", "AwaitCollectives", "NCCLReduce",
                              "Copy"};
  return position == update || types.count(op.type()) != 0;
}

// True for a convolution's gradient operator that converts `gradient`, the gradient of its filter,
// to float, and nothing else.
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

// The part of an arena, and of its update, for the chosen parameters.
ParameterArena ArenaOf(const ParameterArena& arena, const std::vector<int>& chosen) {
  ParameterArena part;
  part.device = arena.device;
  part.copy_type = arena.copy_type;
  part.states.resize(arena.states.size());
  for (const int i : chosen) {
    part.gradients.push_back(arena.gradients[i]);
    part.params.push_back(arena.params[i]);
    part.copies.push_back(arena.copies[i]);
    for (size_t s = 0; s < arena.states.size(); ++s) part.states[s].push_back(arena.states[s][i]);
  }
  const auto& copies = part.copies;
  if (std::all_of(copies.begin(), copies.end(), [](const auto& c) { return c.empty(); })) {
    part.copies.clear();
  }
  return part;
}
OperatorDef UpdateOf(const OperatorDef& whole, const ParameterArena& arena,
                     const std::vector<int>& chosen) {
  const int n = static_cast<int>(arena.params.size());
  const int kinds = static_cast<int>(arena.states.size());
  const auto decay = ArgumentHelper(whole).GetRepeatedArgument<float>("weight_decay");
  OperatorDef part = whole;
  part.clear_input();
  part.clear_output();
  const auto add_inputs = [&](int first) {
    for (const int i : chosen) part.add_input(whole.input(first + i));
  };
  for (int kind = 0; kind <= kinds; ++kind) add_inputs(kind * n);
  // Scalar inputs come before the parameters, found_inf and the loss scale after them.
  const auto params = std::find(whole.input().begin(), whole.input().end(), arena.params[0]);
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
    const std::string& copy = arena.copies[chosen[k]];
    if (copy.empty()) continue;
    copied.push_back(static_cast<int>(k));
    part.add_output(copy);
  }
  SetArgument(&part, "weight_decay", own_decay);
  SetArgument(&part, "copied", copied);
  return part;
}

// The part of a bucket whose gradients are in `half` (or are not in it), after the common world,
// the first input.
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

// Divides a bucket in two. The part with the last gradient comes last, because operators that wait
// for the bucket wait for that gradient.
std::vector<OperatorDef> DivideBucket(const OperatorDef& whole, const Names& half) {
  const bool last = half.count(whole.input(whole.input_size() - 1)) != 0;
  OperatorDef first = BucketOf(whole, half, !last), second = BucketOf(whole, half, last);
  if (first.output_size() == 0) return {second};
  second.set_name(whole.name() + "_rest");
  second.clear_control_input();
  second.add_control_input(first.output(first.output_size() - 1));
  return {first, second};
}

// An arena's filters, the operators that form their gradients, and its other parameters.
struct Division {
  int update = -1;
  std::vector<int> filters, rest, formers;
};
Division DivideArena(const NetDef& net, const ParameterArena& arena) {
  Division division;
  for (int i = 0; division.update < 0 && i < net.op_size(); ++i) {
    const bool fused = net.op(i).type().rfind("Multi", 0) == 0;
    if (fused && Contains(net.op(i).output(), arena.params[0])) division.update = i;
  }
  CAFFE_ENFORCE_GE(division.update, 0, "no operator updates ", arena.params[0]);
  for (size_t p = 0; p < arena.params.size(); ++p) {
    const bool has_copy = !arena.copies.empty() && !arena.copies[p].empty();
    const int former = has_copy ? FormerOf(net, arena.gradients[p], division.update) : -1;
    (former >= 0 ? division.filters : division.rest).push_back(static_cast<int>(p));
    if (former >= 0) division.formers.push_back(former);
  }
  return division;
}

}  // namespace

int KeepFilterGradientsIn16Bit(NetDef* net, std::vector<ParameterArena>* arenas) {
  std::vector<ParameterArena> divided;
  std::map<int, std::vector<OperatorDef>> replaced;
  Names half;
  for (const ParameterArena& arena : *arenas) {
    const Division division = DivideArena(*net, arena);
    if (division.filters.empty()) {
      divided.push_back(arena);
      continue;
    }
    for (const int former : division.formers) {
      RemoveArgument("float_gradients", net->mutable_op(former));
      half.insert(net->op(former).output(0));
    }
    for (const auto* part : {&division.filters, &division.rest}) {
      if (part->empty()) continue;
      replaced[division.update].push_back(UpdateOf(net->op(division.update), arena, *part));
      divided.push_back(ArenaOf(arena, *part));
      if (part == &division.filters) divided.back().gradient_type = arena.copy_type;
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
  *arenas = std::move(divided);
  return static_cast<int>(half.size());
}

}  // namespace caffe2
