#include "caffe2/graph/fusion.h"

#include <vector>

#include "caffe2/core/operator.h"
#include "caffe2/graph/dataflow.h"

namespace caffe2 {
namespace {

// The positions of operators that become one, in the order in which they run; -1 for none.
struct Match {
  int head;  // SpatialBN or Conv
  int sum = -1;
  int relu = -1;

  int last() const { return relu >= 0 ? relu : sum; }
};

class Fuser {
 public:
  Fuser(NetDef* net, const FusionOptions& options)
      : net_(net), level_(options.level), flow_(*net, options.keep), removed_(net->op_size()) {}

  int Run() {
    for (int i = 0; i < net_->op_size(); ++i) {
      if (net_->op(i).type() == "Relu") FuseInto(i);
    }
    // The sums that no Relu has taken.
    for (int i = 0; i < net_->op_size(); ++i) {
      if (net_->op(i).type() == "Sum" && !removed_[i]) FuseSum(i, -1);
    }
    for (const auto& [position, op] : fused_) *net_->mutable_op(position) = op;
    RemoveOperators(removed_, net_);
    return static_cast<int>(std::count(removed_.begin(), removed_.end(), true));
  }

 private:
  bool IsHead(int op) const {
    if (op < 0 || removed_[op] || fused_.count(op)) return false;
    const std::string& type = net_->op(op).type();
    return type == "SpatialBN" || (type == "Conv" && level_ == FusionLevel::kAll);
  }

  void FuseInto(int relu) {
    const int writer = flow_.WriterOf(relu, 0);
    if (IsHead(writer)) {
      Fuse({writer, -1, relu});
    } else if (writer >= 0 && net_->op(writer).type() == "Sum") {
      FuseSum(writer, relu);
    }
  }

  // Prefers the term that is written last, as it is most likely still in the cache.
  void FuseSum(int sum, int relu) {
    if (net_->op(sum).input_size() != 2) return;
    const int first = flow_.WriterOf(sum, 0), second = flow_.WriterOf(sum, 1);
    for (const int head : {std::max(first, second), std::min(first, second)}) {
      if (!IsHead(head) || (relu < 0 && net_->op(head).type() != "Conv")) continue;
      if (Fuse({head, sum, relu})) return;
    }
  }

  bool Fuse(const Match& match) {
    const OperatorDef& head = net_->op(match.head);
    const std::string type =
        head.type() + (match.sum >= 0 ? "Sum" : "") + (match.relu >= 0 ? "Relu" : "");
    OperatorDef fused = head;
    fused.set_type(type);
    fused.set_output(0, net_->op(match.last()).output(0));
    if (match.sum >= 0) fused.add_input(OtherTerm(match));
    const std::string reason = WhyNot(match, fused);
    if (!reason.empty()) {
      VLOG(1) << "net " << net_->name() << ": " << type << " of operator " << match.head << " ("
              << head.output(0) << ") refused: " << reason;
      return false;
    }
    for (const int part : {match.sum, match.relu}) {
      if (part < 0) continue;
      fused.mutable_control_input()->MergeFrom(net_->op(part).control_input());
    }
    removed_[match.head] = true;
    if (match.sum >= 0 && match.relu >= 0) removed_[match.sum] = true;
    fused_[match.last()] = std::move(fused);
    return true;
  }

  // The input of the Sum that the head does not write.
  std::string OtherTerm(const Match& match) const {
    const OperatorDef& sum = net_->op(match.sum);
    return sum.input(flow_.WriterOf(match.sum, 0) == match.head ? 1 : 0);
  }

  // Empty if the operators can be fused.
  std::string WhyNot(const Match& match, const OperatorDef& fused) const {
    const OperatorDef& head = net_->op(match.head);
    if (head.type() == "SpatialBN" && head.input_size() != 5) {
      return "its statistics span several batches";
    }
    const int next = match.sum >= 0 ? match.sum : match.relu;
    std::string shared = flow_.WhyShared(match.head, 0, next);
    if (shared.empty() && match.sum >= 0) {
      const OperatorDef& sum = net_->op(match.sum);
      if (sum.input(0) == sum.input(1)) return "both terms of the sum are " + sum.input(0);
      if (match.relu >= 0) shared = flow_.WhyShared(match.sum, 0, match.relu);
    }
    if (!shared.empty()) return shared;
    const std::string device = WhyNotOnDevice(match, fused);
    return device.empty() ? WhyNotMoved(match, fused) : device;
  }

  const DeviceOption& DeviceOf(int op) const { return DeviceOptionOf(net_->op(op), *net_); }

  std::string WhyNotOnDevice(const Match& match, const OperatorDef& fused) const {
    const Device device = ToDevice(DeviceOf(match.head));
    for (const int part : {match.sum, match.relu}) {
      if (part >= 0 && !IsSameDevice(DeviceOf(part), DeviceOf(match.head))) {
        return "the operators lie on different devices";
      }
    }
    if (!DevicesOf(fused.type()).count(device.type)) {
      return "it does not exist on " + device.ToString();
    }
    return "";
  }

  // The fused operator runs at the place of the last operator.
  std::string WhyNotMoved(const Match& match, const OperatorDef& fused) const {
    const OperatorDef& head = net_->op(match.head);
    for (const std::string& blob : head.input()) {
      if (flow_.IsWrittenBetween(blob, match.head, match.last())) {
        return blob + " is overwritten before the last operator";
      }
    }
    for (int i = 1; i < head.output_size(); ++i) {
      if (flow_.IsTouchedBetween(head.output(i), match.head, match.last())) {
        return head.output(i) + " is used before the last operator";
      }
    }
    if (match.relu >= 0 && match.sum >= 0 &&
        flow_.IsWrittenBetween(fused.input(fused.input_size() - 1), match.sum, match.relu)) {
      return "the other term of the sum is overwritten before the last operator";
    }
    for (const std::string& blob : head.input()) {
      if (blob == fused.output(0)) return "it would overwrite its input " + blob;
      if (match.sum >= 0 && blob == OtherTerm(match)) {
        return blob + " is both an input and a term of the sum, and has one gradient only";
      }
    }
    return "";
  }

  NetDef* net_;
  const FusionLevel level_;
  const Dataflow flow_;
  std::vector<bool> removed_;
  std::map<int, OperatorDef> fused_;
};

}  // namespace

FusionLevel ParseFusionLevel(const std::string& word) {
  if (word == "off") return FusionLevel::kOff;
  if (word == "bn") return FusionLevel::kBatchNorm;
  if (word == "all") return FusionLevel::kAll;
  CAFFE_THROW("unknown fusion level \"", word, "\"; known: off, bn, all");
}

int FuseOperators(NetDef* net, const FusionOptions& options) {
  if (options.level == FusionLevel::kOff) return 0;
  const int removed = Fuser(net, options).Run();
  VLOG(1) << "net " << net->name() << ": fusion removed " << removed << " operators";
  return removed;
}

}  // namespace caffe2
