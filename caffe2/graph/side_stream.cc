#include "caffe2/graph/side_stream.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "caffe2/core/argument.h"
#include "caffe2/core/device.h"
#include "caffe2/core/nested_net.h"
#include "caffe2/core/operator_gradient.h"
#include "caffe2/graph/dataflow.h"

namespace caffe2 {
namespace {

// The operands of an operator that belong to the filter's gradient.
struct FilterGradient {
  std::vector<int> reads;  // inputs, ascending
  int results = 0;         // the first outputs
};

// The operands of a CUDA operator that computes a filter's gradient; no results for other
// operators.
FilterGradient FilterGradientOf(const OperatorDef& op, const DeviceOption& device) {
  static const FilterGradient plain{{0, 2}, 2};  // with the bias
  static const auto* types =
      new std::map<std::string, FilterGradient>{{"ConvGradient", plain},
                                                {"Conv1DGradient", plain},
                                                {"Conv2DGradient", plain},
                                                {"Conv3DGradient", plain},
                                                {"NormReluConvStatsGradient", {{0, 3}, 1}},
                                                {"NormSumReluConvStatsGradient", {{4, 5}, 1}},
                                                {"NormSumNormReluConvStatsGradient", {{5, 6}, 1}}};
  const auto found = types->find(op.type());
  if (ToDevice(device).type != CUDA || found == types->end()) return {};
  FilterGradient gradient = found->second;
  if (ArgumentHelper(op).GetSingleArgument<bool>("no_bias", false)) gradient.results = 1;
  // An operator that lacks operands is refused when the net is created.
  if (op.input_size() <= gradient.reads.back() || op.output_size() < gradient.results) return {};
  return gradient;
}

// Tells which blobs of a net share storage.
class Storage {
 public:
  explicit Storage(const NetDef& net) {
    static const std::set<std::string> types = {"Alias", "AliasWithName", "UnsafeCoalesce"};
    for (const OperatorDef& op : net.op()) {
      if (types.count(op.type()) == 0) continue;
      for (const auto* blobs : {&op.input(), &op.output()}) {
        for (const std::string& blob : *blobs) Unite(op.output(0), blob);
      }
    }
  }
  // One name for all blobs that share storage with `blob`.
  std::string Of(const std::string& blob) const {
    const auto found = shared_.find(blob);
    return found == shared_.end() ? blob : found->second;
  }

 private:
  void Unite(const std::string& a, const std::string& b) {
    const std::string from = Of(b), to = Of(a);
    shared_[b] = to;
    shared_[a] = to;
    for (auto& [blob, name] : shared_) {
      if (name == from) name = to;
    }
  }
  std::map<std::string, std::string> shared_;
};

// A filter's gradient on the second stream.
struct Work {
  int fork = 0;        // the operator's position in the result
  bool alone = false;  // the operator computes nothing else
  OperatorDef join;
  std::set<std::string> reads, writes;  // storage
};

class Pass {
 public:
  Pass(const NetDef& net, int max_open)
      : net_(net), storage_(net), max_open_(static_cast<size_t>(max_open)), result_(net) {
    result_.clear_op();
    for (const OperatorDef& op : net.op()) Add(op);
    for (auto& [device, works] : open_) JoinFirst(works.size(), &works);
  }

  int forks() const { return forks_; }
  NetDef TakeResult() { return std::move(result_); }

 private:
  void Add(const OperatorDef& op) {
    for (auto& [device, works] : open_) {
      size_t joined = works.size();
      while (joined > 0 && !Disturbs(op, works[joined - 1])) --joined;
      JoinFirst(joined, &works);  // the stream runs them in order
    }
    const DeviceOption& device = DeviceOptionOf(op, net_);
    const FilterGradient gradient = FilterGradientOf(op, device);
    if (gradient.results > 0) {
      std::deque<Work>& works = open_[device.device_id()];
      if (works.size() >= max_open_) JoinFirst(works.size() - max_open_ + 1, &works);
      works.push_back(WorkOf(op, gradient));
    }
    *result_.add_op() = op;
  }

  Work WorkOf(const OperatorDef& op, const FilterGradient& gradient) const {
    const std::vector<std::string> results(op.output().begin(),
                                           op.output().begin() + gradient.results);
    std::vector<std::string> touched = results;
    Work work;
    work.fork = result_.op_size();
    work.alone = op.output_size() == gradient.results;
    for (const std::string& blob : results) work.writes.insert(storage_.Of(blob));
    for (const int i : gradient.reads) {
      touched.push_back(op.input(i));
      work.reads.insert(storage_.Of(op.input(i)));
    }
    work.join = GradientMakerBase::CreateOperatorDef("JoinSideStream", "", touched, results);
    if (op.has_device_option()) *work.join.mutable_device_option() = op.device_option();
    work.join.set_is_gradient_op(op.is_gradient_op());
    return work;
  }

  // True if the work must be done before the operator.
  bool Disturbs(const OperatorDef& op, const Work& work) const {
    if (HasNetArgument(op)) return true;
    Operands operands = OperandsOf(op);
    operands.reads.insert(operands.reads.end(), op.control_input().begin(),
                          op.control_input().end());
    const auto is_in = [this](const std::set<std::string>& blobs) {
      return
          [this, &blobs](const std::string& blob) { return blobs.count(storage_.Of(blob)) != 0; };
    };
    return std::any_of(operands.reads.begin(), operands.reads.end(), is_in(work.writes)) ||
           std::any_of(operands.writes.begin(), operands.writes.end(), is_in(work.writes)) ||
           std::any_of(operands.writes.begin(), operands.writes.end(), is_in(work.reads));
  }

  void JoinFirst(size_t n, std::deque<Work>* works) {
    for (; n > 0; --n, works->pop_front()) {
      const Work& work = works->front();
      if (work.alone && work.fork == result_.op_size() - 1) continue;
      SetArgument(result_.mutable_op(work.fork), "side_stream", true);
      *result_.add_op() = work.join;
      ++forks_;
    }
  }

  const NetDef& net_;
  const Storage storage_;
  const size_t max_open_;
  NetDef result_;
  std::map<int, std::deque<Work>> open_;  // by device, the oldest first
  int forks_ = 0;
};

}  // namespace

int UseSideStreams(NetDef* net, int max_open) {
  CAFFE_ENFORCE_GT(max_open, 0, "filter gradients at a time on the second stream");
  Pass pass(*net, max_open);
  *net = pass.TakeResult();
  return pass.forks();
}

}  // namespace caffe2
