#include "caffe2/core/nested_net.h"

#include <algorithm>
#include <set>

#include "caffe2/core/argument.h"

namespace caffe2 {
namespace {

// A list without duplicates.
class Names {
 public:
  void Add(const std::string& name) {
    if (known_.insert(name).second) names_.push_back(name);
  }
  template <typename Range>
  void AddAll(const Range& names) {
    for (const std::string& name : names) Add(name);
  }
  bool Has(const std::string& name) const { return known_.count(name) != 0; }
  std::vector<std::string> Take() { return std::move(names_); }
  const std::vector<std::string>& Get() const { return names_; }

 private:
  std::set<std::string> known_;
  std::vector<std::string> names_;
};

Operands OperandsOfArgument(const OperatorDef& op, const char* name) {
  const Argument* argument = FindArgument(op, name);
  return argument == nullptr ? Operands() : OperandsOf(argument->n());
}

// The blobs of the workspace that the body of an ONNXWhile may touch: all except its own inputs.
void AddOperandsOfBody(const OperatorDef& op, Names* reads, Names* writes, Names* may_keep) {
  const Argument* argument = FindArgument(op, "body");
  if (argument == nullptr) return;
  Names own;
  const auto& handed = argument->n().external_input();
  const int bound = std::min(op.input_size(), handed.size());
  for (int i = 0; i < bound; ++i) own.Add(handed[i]);
  const Operands body = OperandsOf(argument->n());
  for (const std::string& name : body.reads) {
    if (!own.Has(name)) reads->Add(name);
  }
  for (const std::string& name : body.writes) {
    if (own.Has(name)) continue;
    writes->Add(name);
    may_keep->Add(name);
  }
}

// The blobs that every run is sure to write.
Names SurelyWritten(const Operands& operands) {
  Names surely, may_keep;
  may_keep.AddAll(operands.may_keep);
  for (const std::string& name : operands.writes) {
    if (!may_keep.Has(name)) surely.Add(name);
  }
  return surely;
}

}  // namespace

size_t CountOperators(const NetDef& net) {
  size_t count = static_cast<size_t>(net.op_size());
  for (const OperatorDef& op : net.op()) {
    if (!RunsNestedNets(op) && op.type() != "Do" && op.type() != "ONNXWhile") continue;
    for (const Argument& argument : op.arg()) count += CountOperators(argument.n());
  }
  return count;
}

bool HasNetArgument(const OperatorDef& op) {
  return std::any_of(op.arg().begin(), op.arg().end(), [](const Argument& argument) {
    return argument.has_n() || argument.nets_size() != 0;
  });
}

bool RunsNestedNets(const OperatorDef& op) { return op.type() == "If" || op.type() == "While"; }

Operands OperandsOf(const OperatorDef& op) {
  Names reads, writes, may_keep;
  reads.AddAll(op.input());
  writes.AddAll(op.output());
  if (RunsNestedNets(op)) {
    const bool is_if = op.type() == "If";
    const Operands first = OperandsOfArgument(op, is_if ? "then_net" : "cond_net");
    const Operands second = OperandsOfArgument(op, is_if ? "else_net" : "loop_net");
    const Names in_first = SurelyWritten(first), in_second = SurelyWritten(second);
    for (const Operands* operands : {&first, &second}) {
      reads.AddAll(operands->reads);
      writes.AddAll(operands->writes);
    }
    for (const std::string& name : writes.Get()) {
      // If runs one branch. While runs its condition at least once, but perhaps never its body.
      if (!in_first.Has(name) || (is_if && !in_second.Has(name))) may_keep.Add(name);
    }
  } else if (op.type() == "ONNXWhile") {
    AddOperandsOfBody(op, &reads, &writes, &may_keep);
  }
  return {reads.Take(), writes.Take(), may_keep.Take()};
}

Operands OperandsOf(const NetDef& net) {
  Names reads, writes, surely;
  for (const OperatorDef& op : net.op()) {
    const Operands operands = OperandsOf(op);
    for (const std::string& name : operands.reads) {
      if (!writes.Has(name)) reads.Add(name);
    }
    writes.AddAll(operands.writes);
    surely.AddAll(SurelyWritten(operands).Get());
  }
  Names may_keep;
  for (const std::string& name : writes.Get()) {
    if (!surely.Has(name)) may_keep.Add(name);
  }
  return {reads.Take(), writes.Take(), may_keep.Take()};
}

}  // namespace caffe2
