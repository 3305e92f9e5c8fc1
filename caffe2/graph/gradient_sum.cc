#include "caffe2/graph/gradient_sum.h"

#include <algorithm>
#include <vector>

#include "caffe2/core/device.h"
#include "caffe2/core/logging.h"
#include "caffe2/graph/dataflow.h"

namespace caffe2 {
namespace {

// A Sum of the outputs of two operators; the later one is a ConvGradient.
struct SumMatch {
  int earlier, later, sum;
};

class Matcher {
 public:
  Matcher(const NetDef& net, const std::set<std::string>& keep) : net_(net), flow_(net, keep) {}

  // Empty if the Sum at this position can go. Fills `match`.
  std::string WhyNot(int sum, SumMatch* match) const {
    const OperatorDef& op = net_.op(sum);
    const int first = flow_.WriterOf(sum, 0), second = flow_.WriterOf(sum, 1);
    if (first < 0 || second < 0 || first == second)
      return "its inputs are not two gradients of this net";
    *match = {std::min(first, second), std::max(first, second), sum};
    const std::string& added = op.input(first < second ? 1 : 0);
    const std::string& kept = op.input(first < second ? 0 : 1);
    const OperatorDef &earlier = net_.op(match->earlier), &later = net_.op(match->later);
    if (!IsConvGradient(later)) return later.type() + " writes the later gradient";
    const int output = ConvInputGradientOf(later);
    if (output < 0 || later.output(output) != added) {
      return added + " is not the input gradient of a convolution";
    }
    std::string reason = flow_.WhyShared(match->later, output, sum);
    if (reason.empty()) reason = flow_.WhyShared(match->earlier, OutputOf(earlier, kept), sum);
    if (!reason.empty()) return reason;
    if (DeviceOf(match->later).device_type() == CPU &&
        !(IsPointwise(later) && OrderOf(later) == "NHWC")) {
      return "on the CPU only 1x1 convolutions of NHWC with stride 1 add in place";
    }
    if (!IsSameDevice(DeviceOf(match->later), DeviceOf(sum)) ||
        !IsSameDevice(DeviceOf(match->earlier), DeviceOf(sum))) {
      return "they lie on different devices";
    }
    return WhyNotRenamed(*match, kept);
  }

 private:
  // The earlier operator will write its gradient under the name of the sum.
  std::string WhyNotRenamed(const SumMatch& match, const std::string& kept) const {
    const std::string& total = net_.op(match.sum).output(0);
    const OperatorDef& earlier = net_.op(match.earlier);
    if (std::count(earlier.input().begin(), earlier.input().end(), kept) != 0) {
      return kept + " is written in place";
    }
    if (total != kept && flow_.IsTouchedBetween(total, match.earlier - 1, match.sum)) {
      return total + " is used before the sum";
    }
    return "";
  }

  static int OutputOf(const OperatorDef& op, const std::string& blob) {
    return static_cast<int>(std::find(op.output().begin(), op.output().end(), blob) -
                            op.output().begin());
  }
  const DeviceOption& DeviceOf(int op) const { return DeviceOptionOf(net_.op(op), net_); }

  const NetDef& net_;
  const Dataflow flow_;
};

void Fuse(const SumMatch& match, NetDef* net) {
  const OperatorDef sum = net->op(match.sum);
  OperatorDef *earlier = net->mutable_op(match.earlier), *later = net->mutable_op(match.later);
  for (std::string& output : *earlier->mutable_output()) {
    if (output == sum.input(0) || output == sum.input(1)) output = sum.output(0);
  }
  later->add_input(sum.output(0));
  later->set_output(later->output_size() - 1, sum.output(0));
  later->mutable_control_input()->MergeFrom(sum.control_input());
  std::vector<bool> removed(net->op_size());
  removed[match.sum] = true;
  RemoveOperators(removed, net);
}

}  // namespace

int FuseGradientSums(NetDef* net, const std::set<std::string>& keep) {
  int fused = 0;
  for (int i = 0; i < net->op_size(); ++i) {
    if (net->op(i).type() != "Sum" || net->op(i).input_size() != 2) continue;
    SumMatch match{};
    const std::string reason = Matcher(*net, keep).WhyNot(i, &match);
    if (reason.empty()) {
      Fuse(match, net);
      ++fused;
      --i;
    } else {
      VLOG(1) << "net " << net->name() << ": the sum " << net->op(i).output(0)
              << " stays: " << reason;
    }
  }
  VLOG(1) << "net " << net->name() << ": " << fused << " sums of gradients are formed in place";
  return fused;
}

}  // namespace caffe2
