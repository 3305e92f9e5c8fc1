#include "caffe2/graph/conv_norm_fusion.h"

#include <algorithm>

#include "caffe2/core/operator.h"
#include "caffe2/graph/dataflow.h"

namespace caffe2 {
namespace {

// Empty if the convolution is pointwise; otherwise says that it is not.
std::string WhyNotPointwise(const OperatorDef& conv) {
  return IsPointwise(conv) ? "" : "the convolution is not 1x1 with stride 1";
}

// One walk over a net for one kind of rewriting. Finds pairs of an operator and a reader of its
// first output, then rewrites the operators of each pair.
class Rewriter {
 public:
  Rewriter(NetDef* net, const std::set<std::string>& keep) : net_(net), flow_(*net, keep) {}
  virtual ~Rewriter() = default;

  // Returns the number of rewritten pairs.
  int Run() {
    for (int i = 0; i < net_->op_size(); ++i) {
      const int writer = net_->op(i).input_size() <= joint_ ? -1 : flow_.WriterOf(i, joint_);
      if (writer < 0 || !IsPair(writer, i)) continue;
      const std::string reason = WhyNot(writer, i);
      if (reason.empty()) {
        pairs_.emplace_back(writer, i);
      } else {
        VLOG(1) << "net " << net_->name() << ": operators " << writer << " and " << i << " ("
                << net_->op(i).output(0) << ") stay apart: " << reason;
      }
    }
    for (const auto& [first, second] : pairs_) {
      OperatorDef after;
      Rewrite(net_->mutable_op(first), net_->mutable_op(second), &after);
      if (!after.type().empty()) after_[second] = after;
    }
    if (!pairs_.empty()) Renew();
    return static_cast<int>(pairs_.size());
  }

 protected:
  virtual bool IsPair(int first, int second) const = 0;
  virtual std::string WhyNot(int first, int second) const = 0;
  // Clearing `first` removes it. `after` is inserted after `second` if it gets a type.
  virtual void Rewrite(OperatorDef* first, OperatorDef* second, OperatorDef* after) const = 0;

  const std::string& TypeOf(int op) const { return net_->op(op).type(); }
  const DeviceOption& DeviceOf(int op) const { return DeviceOptionOf(net_->op(op), *net_); }
  std::string WhyNotTogether(int first, int second, const std::string& type) const {
    if (!IsSameDevice(DeviceOf(first), DeviceOf(second))) return "they lie on different devices";
    if (OrderOf(net_->op(first)) != OrderOf(net_->op(second))) return "their orders differ";
    const Device device = ToDevice(DeviceOf(first));
    if (!DevicesOf(type).count(device.type)) {
      return type + " does not exist on " + device.ToString();
    }
    return "";
  }

  NetDef* net_;
  const Dataflow flow_;
  int joint_ = 0;  // the input of the second operator that the first one writes

 private:
  static bool IsCleared(const OperatorDef& op) { return op.type().empty(); }
  void Renew() {
    NetDef result = *net_;
    result.clear_op();
    for (int i = 0; i < net_->op_size(); ++i) {
      if (!IsCleared(net_->op(i))) *result.add_op() = net_->op(i);
      if (after_.count(i)) *result.add_op() = after_[i];
    }
    *net_ = std::move(result);
  }

  std::vector<std::pair<int, int>> pairs_;
  std::map<int, OperatorDef> after_;
};

// Conv, then the normalization of its result.
class StatsRewriter final : public Rewriter {
 public:
  using Rewriter::Rewriter;

 private:
  bool IsPair(int conv, int norm) const override {
    return TypeOf(conv) == "Conv" && InputsBesidesSums(TypeOf(norm)) > 0;
  }
  std::string WhyNot(int conv, int norm) const override {
    if (net_->op(conv).input_size() != 2) return "the convolution has a bias";
    if (net_->op(norm).output_size() != 5) return "the normalization takes running statistics";
    if (net_->op(norm).input_size() != InputsBesidesSums(TypeOf(norm))) return "the sums are given";
    for (const std::string& sums : SumsOf(net_->op(conv))) {
      if (flow_.IsWritten(sums)) return sums + " exists";
    }
    return WhyNotTogether(conv, norm, "ConvStats");
  }
  void Rewrite(OperatorDef* conv, OperatorDef* norm, OperatorDef*) const override {
    for (const std::string& sums : SumsOf(*conv)) {
      if (conv->output_size() < 3) conv->add_output(sums);
      norm->add_input(sums);
    }
    conv->set_type("ConvStats");
    if (norm->type() == "SpatialBN") SetArgument(norm, "own_sums", 1);
  }
  // The number of inputs of a normalization without sums; 0 for other types.
  static int InputsBesidesSums(const std::string& type) {
    return type == "SpatialBN" || type == "SpatialBNRelu" ? 5 : type == "SpatialBNSumRelu" ? 6 : 0;
  }
  static std::vector<std::string> SumsOf(const OperatorDef& conv) {
    return {conv.output(0) + "_sum", conv.output(0) + "_sumsq"};
  }
};

// A normalization with the sums as inputs, then an operator that reads its result and can normalize
// while it reads.
class PrologueRewriter : public Rewriter {
 public:
  using Rewriter::Rewriter;

 protected:
  // Makes `norm` a SpatialBNFinalize, which computes the scale and offset of each channel only.
  static void Finalize(const OperatorDef& before, OperatorDef* norm) {
    const int sums = before.input_size() - 2;
    norm->set_type("SpatialBNFinalize");
    norm->clear_input();
    norm->clear_output();
    for (int i : {0, sums, sums + 1, 1, 2, 3, 4}) norm->add_input(before.input(i));
    norm->add_output(before.input(0));
    norm->add_output(NormOf(before));
    for (int i : {1, 2}) norm->add_output(before.output(i));
  }
  static std::string NormOf(const OperatorDef& norm) { return norm.output(0) + "_norm"; }

  // The conditions of all prologues. `reader` will become an operator of type `type`.
  std::string WhyNotFinalized(int norm, int reader, const std::string& type) const {
    const OperatorDef& op = net_->op(norm);
    const int source = flow_.WriterOf(norm, 0);
    if (op.input_size() < 7 || op.output_size() != 5) return "its sums are not given";
    if (source < 0 || !flow_.WhyShared(source, 0, norm).empty()) {
      return op.input(0) + " is read elsewhere";
    }
    for (int i : {3, 4}) {
      if (flow_.Escapes(norm, i) || !flow_.ReadersOf(norm, i).empty()) {
        return op.output(i) + " is read";
      }
    }
    if (flow_.IsWrittenBetween(op.input(0), norm, reader)) return op.input(0) + " is overwritten";
    if (flow_.IsWritten(NormOf(op))) return NormOf(op) + " exists";
    return WhyNotTogether(norm, reader, type);
  }
};

// A normalization with a Relu that has one reader.
class ReluPrologueRewriter final : public PrologueRewriter {
 public:
  using PrologueRewriter::PrologueRewriter;

 private:
  bool IsPair(int norm, int conv) const override {
    return TypeOf(norm) == "SpatialBNRelu" && TypeOf(conv) == "ConvStats";
  }
  std::string WhyNot(int norm, int conv) const override {
    const std::string shared = flow_.WhyShared(norm, 0, conv);
    return shared.empty() ? WhyNotFinalized(norm, conv, "NormReluConvStats") : shared;
  }
  void Rewrite(OperatorDef* norm, OperatorDef* conv, OperatorDef*) const override {
    const OperatorDef before = *norm;
    Finalize(before, norm);
    const std::string filter = conv->input(1);
    conv->set_type("NormReluConvStats");
    conv->clear_input();
    for (const std::string& input : {before.input(0), NormOf(before), filter}) {
      conv->add_input(input);
    }
  }
};

// A normalization with a sum and a Relu. The convolution still writes the result, for readers after
// it.
class ResidualRewriter final : public PrologueRewriter {
 public:
  using PrologueRewriter::PrologueRewriter;

 private:
  bool IsPair(int norm, int conv) const override {
    return TypeOf(norm) == "SpatialBNSumRelu" && TypeOf(conv) == "ConvStats" &&
           flow_.ReadersOf(norm, 0).front() == conv;
  }
  std::string WhyNot(int norm, int conv) const override {
    const std::string reason = WhyNotPointwise(net_->op(conv));
    if (!reason.empty()) return reason;
    const OperatorDef& op = net_->op(norm);
    for (const std::string& blob : {op.input(5), op.output(0)}) {
      if (flow_.IsWrittenBetween(blob, norm, conv)) return blob + " is overwritten";
    }
    if (op.input(5) == op.output(0)) return op.output(0) + " is written in place";
    return WhyNotFinalized(norm, conv, "NormSumReluConvStats");
  }
  void Rewrite(OperatorDef* norm, OperatorDef* conv, OperatorDef*) const override {
    const OperatorDef before = *norm;
    Finalize(before, norm);
    const std::string filter = conv->input(1);
    conv->set_type("NormSumReluConvStats");
    conv->clear_input();
    for (const std::string& input : {before.input(0), NormOf(before), before.input(5), filter}) {
      conv->add_input(input);
    }
    conv->add_output(before.output(0));
  }
};

// The normalization of a shortcut, then the normalization of the block with the sum and a Relu.
class ShortcutRewriter final : public PrologueRewriter {
 public:
  ShortcutRewriter(NetDef* net, const std::set<std::string>& keep) : PrologueRewriter(net, keep) {
    joint_ = 5;
  }

 private:
  bool IsPair(int shortcut, int norm) const override {
    return TypeOf(shortcut) == "SpatialBN" && TypeOf(norm) == "SpatialBNSumRelu";
  }
  std::string WhyNot(int shortcut, int norm) const override {
    const OperatorDef &first = net_->op(shortcut), &second = net_->op(norm);
    if (!ArgumentHelper(first).GetSingleArgument<bool>("own_sums", false)) {
      return "its sums do not come from a convolution";
    }
    std::string reason = flow_.WhyShared(shortcut, 0, norm);
    if (reason.empty()) reason = WhyNotFinalized(shortcut, norm, "NormSumNormRelu");
    if (reason.empty()) reason = WhyNotFinalized(norm, norm, "NormSumNormRelu");
    if (!reason.empty()) return reason;
    if (first.input(0) == second.input(0)) return "both normalize " + first.input(0);
    return second.input(0) == second.output(0) ? "it is done in place" : "";
  }
  void Rewrite(OperatorDef* shortcut, OperatorDef* norm, OperatorDef* sum) const override {
    const OperatorDef first = *shortcut, second = *norm;
    Finalize(first, shortcut);
    Finalize(second, norm);
    *sum = second;
    sum->set_type("NormSumNormRelu");
    sum->clear_input();
    sum->clear_output();
    for (const OperatorDef& term : {second, first}) {
      sum->add_input(term.input(0));
      sum->add_input(NormOf(term));
    }
    sum->add_output(second.output(0));
  }
};

// The sum of a block and a normalized shortcut. The convolution writes it, for readers after it.
class ShortcutResidualRewriter final : public Rewriter {
 public:
  using Rewriter::Rewriter;

 private:
  bool IsPair(int sum, int conv) const override {
    return TypeOf(sum) == "NormSumNormRelu" && TypeOf(conv) == "ConvStats" &&
           flow_.ReadersOf(sum, 0).front() == conv;
  }
  std::string WhyNot(int sum, int conv) const override {
    const std::string reason = WhyNotPointwise(net_->op(conv));
    if (!reason.empty()) return reason;
    const OperatorDef& op = net_->op(sum);
    std::vector<std::string> blobs(op.input().begin(), op.input().end());
    if (std::count(blobs.begin(), blobs.end(), op.output(0)) != 0) {
      return op.output(0) + " is written in place";
    }
    blobs.push_back(op.output(0));
    for (const std::string& blob : blobs) {
      if (flow_.IsWrittenBetween(blob, sum, conv)) return blob + " is overwritten";
    }
    return WhyNotTogether(sum, conv, "NormSumNormReluConvStats");
  }
  void Rewrite(OperatorDef* sum, OperatorDef* conv, OperatorDef*) const override {
    const std::string filter = conv->input(1);
    conv->set_type("NormSumNormReluConvStats");
    *conv->mutable_input() = sum->input();
    conv->add_input(filter);
    conv->add_output(sum->output(0));
    sum->Clear();
  }
};

}  // namespace

ConvNormFusion ParseConvNormFusion(const std::string& word) {
  if (word == "none") return ConvNormFusion::kNone;
  if (word == "stats") return ConvNormFusion::kStats;
  if (word == "prologue") return ConvNormFusion::kPrologue;
  if (word == "residual") return ConvNormFusion::kResidual;
  CAFFE_THROW("unknown fusion \"", word, "\"; known: none, stats, prologue, residual");
}

ConvNormFusion ChooseConvNormFusion(DeviceType device, const std::string& order,
                                    TensorProto::DataType type) {
  if (device != CUDA || order != "NHWC") return ConvNormFusion::kNone;
  if (type == TensorProto::FLOAT16) return ConvNormFusion::kResidual;
  return type == TensorProto::BFLOAT16 ? ConvNormFusion::kStats : ConvNormFusion::kNone;
}

int FuseConvolutionsWithNorms(NetDef* net, ConvNormFusion fusion,
                              const std::set<std::string>& keep) {
  int with_stats = 0, with_prologue = 0, shortcuts = 0, with_shortcut = 0, with_sum = 0;
  if (fusion >= ConvNormFusion::kStats) with_stats = StatsRewriter(net, keep).Run();
  if (fusion >= ConvNormFusion::kPrologue) with_prologue = ReluPrologueRewriter(net, keep).Run();
  if (fusion >= ConvNormFusion::kStats) shortcuts = ShortcutRewriter(net, keep).Run();
  if (fusion >= ConvNormFusion::kResidual) {
    with_shortcut = ShortcutResidualRewriter(net, keep).Run();
    with_sum = ResidualRewriter(net, keep).Run();
  }
  VLOG(1) << "net " << net->name() << ": " << with_stats << " convolutions give statistics, "
          << with_prologue << " normalize their input, " << with_sum + with_shortcut
          << " end a block; " << shortcuts << " shortcuts are normalized as they are added, "
          << with_shortcut << " of them by a convolution";
  return with_stats;
}

}  // namespace caffe2
