#include "caffe2/graph/gradient.h"

#include <algorithm>
#include <set>
#include <utility>

#include "caffe2/core/logging.h"
#include "caffe2/core/nested_net.h"

namespace caffe2 {
namespace {

// One value of a blob: its name and how often the name was written before.
using Version = std::pair<std::string, int>;

// Entries of a device option's extra_info, as in Caffe2. The first marks the sums that the pass
// adds. The second, on an operator that writes a term of a sum, keeps the rest of its extra_info
// from the sum.
const char kGradientSum[] = "is_auto_gen_sum_ops:1";
const char kOnlyGradientSum[] = "only_keep_is_auto_gen_sum_ops_tag:1";

// One contribution to the gradient of a value. `op` is the index (in the pass) of the operator that
// writes it, and `outputs` are the indices of its outputs that do. `op` is -1 if an existing blob
// is passed on.
struct Contribution {
  GradientWrapper gradient;
  int op = -1;
  std::vector<int> outputs;
  std::map<std::string, int> stamps;  // writes of each blob of the gradient when it was made
  int forward = -1;  // the forward operator that it comes from; -1 if there is none
};

void AddMissing(const std::vector<std::string>& names,
                google::protobuf::RepeatedPtrField<std::string>* list) {
  for (const std::string& name : names) {
    if (std::find(list->begin(), list->end(), name) == list->end()) *list->Add() = name;
  }
}

// The net with all blobs that If and While touch as their inputs and outputs. An output whose
// earlier value they may keep becomes an input, too.
NetDef WithAllOperands(const NetDef& net) {
  NetDef full = net;
  for (OperatorDef& op : *full.mutable_op()) {
    if (!RunsNestedNets(op)) continue;
    const Operands operands = OperandsOf(op);
    AddMissing(operands.reads, op.mutable_input());
    AddMissing(operands.may_keep, op.mutable_input());
    AddMissing(operands.writes, op.mutable_output());
  }
  return full;
}

class BackwardBuilder {
 public:
  BackwardBuilder(const NetDef& net, const LossGradients& losses) : net_(WithAllOperands(net)) {
    NumberVersions();
    std::set<std::string> seeded;
    for (const auto& [loss, gradient] : losses) {
      CAFFE_ENFORCE(seeded.insert(loss).second, "net ", net.name(), ": the loss ", loss,
                    " is given twice");
      SeedLoss(loss, gradient);
    }
  }

  BackwardPass Build() {
    for (int i = net_.op_size() - 1; i >= 0; --i) {
      Differentiate(i);
      for (int k = 0; k < net_.op(i).input_size(); ++k) {
        const Version value = inputs_[i][k];
        if (first_use_.at(value) == i) Accumulate(value);
      }
    }
    return std::move(pass_);
  }

 private:
  void NumberVersions() {
    inputs_.resize(net_.op_size());
    outputs_.resize(net_.op_size());
    for (int i = 0; i < net_.op_size(); ++i) {
      for (const std::string& input : net_.op(i).input()) {
        const Version value{input, current_[input]};
        inputs_[i].push_back(value);
        first_use_.emplace(value, i);
      }
      for (const std::string& output : net_.op(i).output()) {
        outputs_[i].push_back({output, ++current_[output]});
        writer_[outputs_[i].back()] = i;
      }
    }
  }

  void SeedLoss(const std::string& loss, const std::string& gradient) {
    auto it = current_.find(loss);
    CAFFE_ENFORCE(it != current_.end(), net_.name().empty() ? "the net" : "net " + net_.name(),
                  " computes no blob ", loss, " to differentiate");
    const Version value{loss, it->second};
    Contribution seed;
    if (auto writer = writer_.find(value); writer != writer_.end()) seed.forward = writer->second;
    seed.gradient.dense = gradient;
    if (gradient.empty()) {
      seed.gradient.dense = loss + "_autogen_grad";
      OperatorDef ones = GradientMakerBase::CreateOperatorDef(
          "ConstantFill", "", {loss}, {seed.gradient.dense}, {MakeArgument("value", 1.0f)});
      if (const DeviceOption* device = DeviceOf(seed)) *ones.mutable_device_option() = *device;
      seed.op = Append(ones);
      seed.outputs = {0};
    }
    Stamp(&seed);
    contributions_[value].push_back(seed);
    // If no operator reads the loss, its gradient is complete.
    if (first_use_.count(value) == 0) Accumulate(value);
  }

  int Append(const OperatorDef& op) {
    for (const std::string& output : op.output()) ++writes_[output];
    pass_.ops.push_back(op);
    return static_cast<int>(pass_.ops.size()) - 1;
  }

  void Stamp(Contribution* contribution) {
    for (const std::string* blob : BlobsOf(contribution->gradient)) {
      contribution->stamps[*blob] = writes_[*blob];
    }
  }

  static std::vector<const std::string*> BlobsOf(const GradientWrapper& gradient) {
    std::vector<const std::string*> blobs;
    for (const std::string* blob : {&gradient.dense, &gradient.indices, &gradient.values}) {
      if (!blob->empty()) blobs.push_back(blob);
    }
    return blobs;
  }

  void CheckUnchanged(const Contribution& contribution, const std::string& of) {
    for (const auto& [blob, stamp] : contribution.stamps) {
      CAFFE_ENFORCE(writes_[blob] == stamp, "net ", net_.name(), ": the gradient of ", of,
                    ", blob ", blob, ", was overwritten before its use");
    }
  }

  // The complete gradient of a value, or an empty one. A value that no operator reads has a
  // gradient only if it is a loss.
  GradientWrapper GradientOf(const Version& value) {
    if (contributions_.count(value) && !complete_.count(value)) Accumulate(value);
    auto it = complete_.find(value);
    if (it == complete_.end()) {
      CheckNotReplaced(value);
      return {};
    }
    CheckUnchanged(it->second, value.first);
    return it->second.gradient;
  }

  // Throws if no operator reads the value before it is overwritten by one that has a gradient: then
  // one name stands for two things. An operator that runs nets may keep the value, so it is exempt.
  void CheckNotReplaced(const Version& value) {
    if (first_use_.count(value) || !pass_.gradients.count(value.first)) return;
    const auto next = writer_.find({value.first, value.second + 1});
    if (next == writer_.end() || RunsNestedNets(net_.op(next->second))) return;
    CAFFE_THROW("net ", net_.name(), ": operator ", writer_.at(value), ", ",
                net_.op(writer_.at(value)).type(), ", writes version ", value.second, " of blob ",
                value.first, ", which nothing reads before operator ", next->second, ", ",
                net_.op(next->second).type(), ", writes version ", value.second + 1,
                ", and the gradient of ", value.first, " belongs to a later version");
  }

  void Differentiate(int i) {
    const OperatorDef& op = net_.op(i);
    std::vector<GradientWrapper> g_output;
    bool any = false;
    for (const Version& value : outputs_[i]) {
      g_output.push_back(GradientOf(value));
      any = any || !g_output.back().IsEmpty();
    }
    // ZeroGradient has no outputs and still gives its input a gradient.
    if (!any && op.type() != "ZeroGradient") return;
    GradientOpsMeta meta;
    try {
      meta = GetGradientForOp(op, g_output);
    } catch (Error& error) {
      const std::string net = net_.name().empty() ? "" : MakeString("net ", net_.name(), ", ");
      error.AddContext(MakeString("gradient of ", net, "operator ", i, ", ", op.type(),
                                  op.output_size() == 0 ? "" : ", output ",
                                  op.output_size() == 0 ? "" : op.output(0)));
      throw;
    }
    const int begin = static_cast<int>(pass_.ops.size());
    for (const OperatorDef& gradient_op : meta.ops) {
      CheckForwardValues(i, gradient_op);
      Append(gradient_op);
    }
    std::set<std::pair<Version, std::string>> seen;
    for (int k = 0; k < op.input_size(); ++k) {
      const GradientWrapper& gradient = meta.g_input[k];
      if (gradient.IsEmpty()) {
        // The known gradient belongs to the value that the operator wrote in place of its input.
        if (!contributions_.count(inputs_[i][k]) && Writes(op, op.input(k))) {
          pass_.gradients.erase(op.input(k));
        }
        continue;
      }
      CheckForwardValue(i, gradient.indices);  // of a Gather, say
      // One operator may read a blob twice and write both gradients under one name.
      const std::string key = gradient.IsDense() ? gradient.dense : gradient.values;
      if (!seen.insert({inputs_[i][k], key}).second && FindWriter(begin, key).op >= 0) continue;
      AddContribution(inputs_[i][k], gradient, i, begin);
    }
  }

  static bool Writes(const OperatorDef& op, const std::string& blob) {
    return std::count(op.output().begin(), op.output().end(), blob) != 0;
  }

  // A gradient operator reads forward values by name: the name must still hold the version that
  // its forward operator saw.
  void CheckForwardValues(int i, const OperatorDef& gradient_op) {
    for (const std::string& blob : gradient_op.input()) {
      // CopyOnDeviceLike uses only the device of this input.
      if (gradient_op.type() == "CopyOnDeviceLike" && blob == gradient_op.input(1)) continue;
      CheckForwardValue(i, blob);
    }
  }

  void CheckForwardValue(int i, const std::string& blob) {
    // An in-place operator's gradient reads the name as its output.
    const auto& outputs = outputs_[i];
    const auto& values = std::any_of(outputs.begin(), outputs.end(),
                                     [&blob](const Version& value) { return value.first == blob; })
                             ? outputs
                             : inputs_[i];
    for (const Version& value : values) {
      if (value.first != blob) continue;
      CAFFE_ENFORCE(current_[blob] == value.second, "net ", net_.name(), ", operator ", i, ", ",
                    net_.op(i).type(), ": its gradient needs version ", value.second, " of blob ",
                    blob, ", which a later operator overwrites");
    }
  }

  // The last operator from `begin` on that writes the blob, and the outputs that do.
  Contribution FindWriter(int begin, const std::string& blob) const {
    Contribution found;
    for (int k = static_cast<int>(pass_.ops.size()) - 1; k >= begin && found.op < 0; --k) {
      for (int o = 0; o < pass_.ops[k].output_size(); ++o) {
        if (pass_.ops[k].output(o) != blob) continue;
        found.op = k;
        found.outputs.push_back(o);
      }
    }
    return found;
  }

  // `begin` is the first gradient operator of forward operator i.
  void AddContribution(const Version& value, const GradientWrapper& gradient, int i, int begin) {
    Contribution contribution;
    if (gradient.IsDense()) contribution = FindWriter(begin, gradient.dense);
    contribution.forward = i;
    contribution.gradient = gradient;
    Stamp(&contribution);
    contributions_[value].push_back(contribution);
  }

  // Sums all contributions to a value into one gradient.
  void Accumulate(const Version& value) {
    auto it = contributions_.find(value);
    if (it == contributions_.end() || complete_.count(value)) return;
    std::vector<Contribution>& parts = it->second;
    Contribution total = parts[0];
    if (parts.size() > 1 || parts[0].outputs.size() > 1) {
      total = parts[0].gradient.IsDense() ? SumDense(value, parts) : ConcatSparse(value, parts);
      Stamp(&total);
    }
    complete_[value] = total;
    pass_.gradients[value.first] = total.gradient;
    if (value.second == 0) pass_.input_gradients[value.first] = total.gradient;
  }

  // The device of the operator that writes the contribution or, if it is passed on, of the forward
  // operator. Null if the operator names none.
  const DeviceOption* DeviceOf(const Contribution& part) const {
    if (part.op < 0 && part.forward < 0) return nullptr;
    const OperatorDef& op = part.op >= 0 ? pass_.ops[part.op] : net_.op(part.forward);
    return op.has_device_option() ? &op.device_option() : nullptr;
  }

  // Gives a sum the device of the first term that has one, and marks it.
  void PlaceSum(const std::vector<Contribution>& parts, OperatorDef* sum) const {
    const DeviceOption* first = nullptr;
    for (size_t k = 0; k < parts.size() && first == nullptr; ++k) first = DeviceOf(parts[k]);
    if (first == nullptr) return;  // it runs where the net does
    DeviceOption* device = sum->mutable_device_option();
    *device = *first;
    const auto& info = first->extra_info();
    if (std::count(info.begin(), info.end(), kOnlyGradientSum) != 0) device->clear_extra_info();
    device->add_extra_info(kGradientSum);
  }

  // The name of the sum: the name of the first part that an operator writes.
  std::string SumName(const Version& value, const std::vector<Contribution>& parts) const {
    for (const Contribution& part : parts) {
      if (part.op >= 0) return pass_.ops[part.op].output(part.outputs[0]);
    }
    return value.first + "_grad";
  }

  Contribution SumDense(const Version& value, const std::vector<Contribution>& parts) {
    OperatorDef sum;
    sum.set_type("Sum");
    std::string name = SumName(value, parts);
    // A gradient that is passed on under this name may also be the gradient of other blobs: it must
    // not change. Otherwise the first writer keeps the name.
    bool taken = std::any_of(parts.begin(), parts.end(), [&name](const Contribution& part) {
      return part.op < 0 && part.gradient.dense == name;
    });
    bool keep = !taken && OnlyPartsWrite(name, parts);
    int count = 0;
    for (const Contribution& part : parts) {
      CAFFE_ENFORCE(part.gradient.IsDense(), "net ", net_.name(), ": blob ", value.first,
                    " gets both dense and sparse gradients");
      if (part.op < 0) sum.add_input(part.gradient.dense);
      if (IsOfOthers(value, part)) {  // it must not change, too
        sum.add_input(part.gradient.dense);
        if (part.gradient.dense == name) {
          taken = true;
          keep = false;
        }
        continue;
      }
      for (const int output : part.outputs) {
        sum.add_input(keep ? name : SplitOutput(part.op, output, count++));
        keep = false;
      }
    }
    // Checked after the renames above: the given gradient of a loss that is read on the way to
    // another loss may have the name that contributions had before.
    for (const Contribution& part : parts) {
      if (part.op < 0) CheckUnchanged(part, value.first);
    }
    if (taken) name = SplitName(name, count);
    sum.add_output(name);
    // Sum may write in place of its first input only.
    for (int k = 1; k < sum.input_size(); ++k) {
      if (sum.input(k) == name) sum.mutable_input()->SwapElements(0, k);
    }
    PlaceSum(parts, &sum);
    Append(sum);
    Contribution total;
    total.gradient.dense = name;
    return total;
  }

  // Whether the contribution is also the gradient of another value.
  bool IsOfOthers(const Version& value, const Contribution& part) const {
    if (part.op < 0) return false;
    return std::any_of(contributions_.begin(), contributions_.end(), [&](const auto& other) {
      return other.first != value &&
             std::any_of(other.second.begin(), other.second.end(), [&part](const Contribution& c) {
               return c.op == part.op && c.gradient.dense == part.gradient.dense;
             });
    });
  }

  // False if another operator writes the blob after the first part, as one that runs nets may.
  bool OnlyPartsWrite(const std::string& blob, const std::vector<Contribution>& parts) const {
    int expected = 0;
    for (const Contribution& part : parts) {
      if (part.op < 0 || part.gradient.dense != blob) continue;
      expected += expected == 0 ? part.stamps.at(blob) : static_cast<int>(part.outputs.size());
    }
    const auto writes = writes_.find(blob);
    return writes == writes_.end() || writes->second == expected;
  }

  // Gives an output of an operator of the pass the k-th name of its own.
  std::string SplitOutput(int op, int output, int k) {
    OperatorDef& writer = pass_.ops[op];
    const std::string split = SplitName(writer.output(output), k);
    RenameReads(op, writer.output(output), split);
    --writes_[writer.output(output)];
    writer.set_output(output, split);
    return split;
  }

  static std::string SplitName(const std::string& blob, int k) {
    return "_" + blob + "_autosplit_" + std::to_string(k);
  }

  // If a gradient takes several operators, later ones may read the output of operator `writer`.
  void RenameReads(int writer, const std::string& from, const std::string& to) {
    for (size_t k = static_cast<size_t>(writer) + 1; k < pass_.ops.size(); ++k) {
      OperatorDef& op = pass_.ops[k];
      std::replace(op.mutable_input()->begin(), op.mutable_input()->end(), from, to);
      if (std::count(op.output().begin(), op.output().end(), from) != 0) return;
    }
  }

  Contribution ConcatSparse(const Version& value, const std::vector<Contribution>& parts) {
    Contribution total;
    total.gradient.indices = value.first + "_grad_indices_concat";
    total.gradient.values = value.first + "_grad_values_concat";
    OperatorDef indices = GradientMakerBase::CreateOperatorDef(
        "Concat", "", {}, {total.gradient.indices, total.gradient.indices + "_split"},
        {MakeArgument("axis", 0)});
    OperatorDef values = GradientMakerBase::CreateOperatorDef(
        "Concat", "", {}, {total.gradient.values, total.gradient.values + "_split"},
        {MakeArgument("axis", 0)});
    int count = 0;
    for (const Contribution& part : parts) {
      CAFFE_ENFORCE(part.gradient.IsSparse(), "net ", net_.name(), ": blob ", value.first,
                    " gets both dense and sparse gradients");
      indices.add_input(SplitSparse(part.gradient.indices, count));
      values.add_input(SplitSparse(part.gradient.values, count));
      ++count;
    }
    for (OperatorDef* op : {&indices, &values}) {
      PlaceSum(parts, op);
      Append(*op);
    }
    return total;
  }

  // Renames the output of the k-th part so that the parts do not overwrite each other. Blobs that
  // the pass does not write, such as the indices of a Gather, keep their names.
  std::string SplitSparse(const std::string& blob, int k) {
    for (OperatorDef& op : pass_.ops) {
      for (std::string& output : *op.mutable_output()) {
        if (output != blob) continue;
        output = SplitName(blob, k);
        return output;
      }
    }
    return blob;
  }

  const NetDef net_;
  BackwardPass pass_;
  std::vector<std::vector<Version>> inputs_, outputs_;  // of each forward operator
  std::map<std::string, int> current_;                  // last version of each name
  std::map<Version, int> writer_;                       // forward operator that wrote a value
  std::map<Version, int> first_use_;                    // first forward operator that reads it
  std::map<Version, std::vector<Contribution>> contributions_;
  std::map<Version, Contribution> complete_;
  std::map<std::string, int> writes_;  // how often the pass wrote each blob
};

}  // namespace

BackwardPass GetBackwardPass(const NetDef& net, const LossGradients& losses) {
  return BackwardBuilder(net, losses).Build();
}

std::map<std::string, GradientWrapper> AddGradientOperators(NetDef* net,
                                                            const LossGradients& losses) {
  BackwardPass pass = GetBackwardPass(*net, losses);
  for (const OperatorDef& op : pass.ops) *net->add_op() = op;
  return pass.gradients;
}

}  // namespace caffe2
