#include "caffe2/graph/channels_last.h"

#include <algorithm>
#include <map>
#include <vector>

#include "caffe2/core/argument.h"
#include "caffe2/core/device.h"
#include "caffe2/core/logging.h"
#include "caffe2/core/nested_net.h"
#include "caffe2/core/workspace.h"
#include "caffe2/graph/dataflow.h"

namespace caffe2 {
namespace {

constexpr int kImageAxes = 4;

using Types = std::set<std::string>;

bool HasFilter(const std::string& type) {
  static const Types types = {"Conv",    "Conv2D",      "ConvRelu",
                              "ConvSum", "ConvSumRelu", "ConvTranspose"};
  return types.count(type) != 0;
}
bool AddsImage(const std::string& type) { return type == "ConvSum" || type == "ConvSumRelu"; }

// Input 0 is an image, and the argument `order` says where its channels are. Other inputs have one
// value for each channel. LRN is not among them, as it is slower in NHWC.
bool IsOrdered(const std::string& type) {
  static const Types types = {"AveragePool",  "AveragePool2D", "ChannelShuffle", "GroupNorm",
                              "InstanceNorm", "MaxPool",       "MaxPool2D",      "PadImage",
                              "PRelu",        "ResizeNearest", "SpatialBN",      "SpatialBNRelu"};
  return types.count(type) != 0;
}
// Work element by element; all inputs are images, whose axes may have size 1.
bool IsElementwise(const std::string& type) {
  static const Types types = {"Abs",         "Add",
                              "Ceil",        "Clip",
                              "Copy",        "Div",
                              "Elu",         "Exp",
                              "Floor",       "Gelu",
                              "HardSigmoid", "LeakyRelu",
                              "Log",         "Max",
                              "Mean",        "Min",
                              "Mul",         "Negative",
                              "Relu",        "ReluN",
                              "Rsqrt",       "Scale",
                              "Selu",        "Sigmoid",
                              "Sign",        "Softplus",
                              "Softsign",    "Sqr",
                              "Sqrt",        "Sub",
                              "Sum",         "Swish",
                              "Tanh",        "ThresholdedRelu"};
  return types.count(type) != 0;
}
bool JoinsOrSplits(const std::string& type) { return type == "Concat" || type == "Split"; }

bool IsOnCpu(const NetDef& net) {
  return std::all_of(net.op().begin(), net.op().end(), [&](const OperatorDef& op) {
    return ToDevice(DeviceOptionOf(op, net)).type == CPU;
  });
}

class Mover {
 public:
  Mover(const NetDef& net, Workspace* ws, const std::set<std::string>& keep)
      : net_(net), ws_(ws), flow_(net, keep), kept_(keep), result_(net) {
    kept_.insert(net.external_output().begin(), net.external_output().end());
    names_.insert(kept_.begin(), kept_.end());
    names_.insert(net.external_input().begin(), net.external_input().end());
    for (int i = 0; i < net.op_size(); ++i) {
      const OperatorDef& op = net.op(i);
      names_.insert(op.input().begin(), op.input().end());
      names_.insert(op.output().begin(), op.output().end());
      for (int j = 0; j < op.input_size(); ++j) {
        // The next run reads it.
        if (flow_.WriterOf(i, j) < 0 && flow_.IsWritten(op.input(j))) kept_.insert(op.input(j));
      }
    }
    result_.clear_op();
  }

  int Run(NetDef* net) {
    int moved = 0;
    for (int i = 0; i < net_.op_size(); ++i) {
      const OperatorDef& op = net_.op(i);
      const bool moves = HasFilter(op.type()) ? HasMovableFilter(op) : CanFollow(i);
      if (moves) {
        Move(op);
        ++moved;
      } else {
        Stay(op);
      }
    }
    for (const std::string& blob : kept_) InChannelsFirst(blob);
    if (moved > 0) *net = std::move(result_);
    return moved;
  }

 private:
  // True if the blob is a constant tensor with so many axes, on the CPU.
  bool IsParameter(const std::string& blob, int axes) const {
    const Blob* found = flow_.IsWritten(blob) ? nullptr : ws_->GetBlob(blob);
    const Tensor* tensor = found != nullptr ? BlobTensor(*found) : nullptr;
    return tensor != nullptr && tensor->has_data() && tensor->dim() == axes &&
           tensor->device().type == CPU && tensor->dtype().copy() == nullptr;
  }
  bool HasMovableFilter(const OperatorDef& op) const {
    return op.input_size() >= 2 && OrderOf(op) == "NCHW" && IsParameter(op.input(1), kImageAxes);
  }
  bool HasChannelParameter(const OperatorDef& op) const {
    return AddsToChannels(op) && IsParameter(op.input(1), 1);
  }

  // True if operator i, which has no filter, can run in NHWC, and its images are there in NHWC.
  bool CanFollow(int i) const {
    const OperatorDef& op = net_.op(i);
    const std::string& type = op.type();
    if (IsOrdered(type)) {
      return OrderOf(op) == "NCHW" && moved_.count(op.input(0)) && WritesOneBlob(i);
    }
    if (!IsElementwise(type) && !JoinsOrSplits(type)) return false;
    if (HasChannelParameter(op)) return moved_.count(op.input(0)) != 0;
    if (op.input_size() == 0 || !std::all_of(op.input().begin(), op.input().end(),
                                             [&](const auto& x) { return moved_.count(x); })) {
      return false;
    }
    if (JoinsOrSplits(type)) return WorksOnChannels(op) && (type == "Split" || WritesOneBlob(i));
    // These broadcast the second input along an axis that is counted in NCHW.
    const ArgumentHelper arguments(op);
    for (const char* name : {"broadcast", "axis", "axis_str"}) {
      if (arguments.HasArgument(name)) return false;
    }
    return WritesOneBlob(i);
  }
  // True if nobody reads outputs after the first one, such as the means of InstanceNorm.
  bool WritesOneBlob(int i) const {
    for (int j = 1; j < net_.op(i).output_size(); ++j) {
      if (flow_.Escapes(i, j) || !flow_.ReadersOf(i, j).empty()) return false;
    }
    return true;
  }
  static bool WorksOnChannels(const OperatorDef& op) {
    const ArgumentHelper arguments(op);
    const int axis = arguments.GetSingleArgument<int>("axis", 1);
    return (arguments.HasArgument("axis") || OrderOf(op) == "NCHW") &&
           (axis == 1 || axis == 1 - kImageAxes) &&
           !arguments.GetSingleArgument<bool>("add_axis", false);
  }

  // A name with "_nhwc" that the net does not have; always the same for a blob.
  const std::string& MovedName(const std::string& blob) {
    std::string& name = moved_names_[blob];
    if (name.empty()) {
      name = blob + "_nhwc";
      while (!names_.insert(name).second) name += "_";
    }
    return name;
  }
  OperatorDef* Add(const char* type, const std::string& from, const std::string& to) {
    OperatorDef* op = result_.add_op();
    op->set_type(type);
    op->add_input(from);
    op->add_output(to);
    return op;
  }
  // The blob in NHWC, converted if need be.
  const std::string& InChannelsLast(const std::string& blob) {
    const std::string& name = MovedName(blob);
    if (moved_.insert(blob).second) Add("NCHW2NHWC", blob, name);
    return name;
  }
  void InChannelsFirst(const std::string& blob) {
    if (absent_.erase(blob) > 0) Add("NHWC2NCHW", MovedName(blob), blob);
  }
  const std::string& FilterInChannelsLast(const std::string& blob) {
    const std::string& name = MovedName(blob);
    if (moved_filters_.insert(blob).second) {
      OperatorDef op;
      op.set_type("NCHW2NHWC");
      op.add_input(blob);
      op.add_output(name);
      CAFFE_ENFORCE(ws_->RunOperatorOnce(op), "cannot convert the filter ", blob);
      result_.add_external_input(name);
    }
    return name;
  }

  void Move(const OperatorDef& op) {
    OperatorDef moved = op;
    const std::string& type = op.type();
    const int last = op.input_size() - 1;
    const bool channel_parameter = HasChannelParameter(op);
    for (int j = 0; j <= last; ++j) {
      const bool filter = HasFilter(type) && j == 1;
      const bool image = j == 0 || (IsElementwise(type) && !channel_parameter) ||
                         JoinsOrSplits(type) || (AddsImage(type) && j == last);
      if (filter) {
        moved.set_input(j, FilterInChannelsLast(op.input(j)));
      } else if (image) {
        moved.set_input(j, InChannelsLast(op.input(j)));
      } else {
        InChannelsFirst(op.input(j));
      }
    }
    if (JoinsOrSplits(type) || channel_parameter) SetArgument(&moved, "axis", kImageAxes - 1);
    if (!IsElementwise(type) || ArgumentHelper(op).HasArgument("order")) {
      SetArgument(&moved, "order", std::string("NHWC"));
    }
    for (int j = 0; j < (type == "Split" ? op.output_size() : 1); ++j) {
      moved.set_output(j, MovedName(op.output(j)));
    }
    FollowControlInputs(&moved);
    *result_.add_op() = std::move(moved);
    for (const std::string& output : op.output()) Forget(output);
    for (int j = 0; j < (type == "Split" ? op.output_size() : 1); ++j) {
      moved_.insert(op.output(j));
      absent_.insert(op.output(j));
    }
  }
  void Stay(const OperatorDef& op) {
    for (const std::string& input : op.input()) InChannelsFirst(input);
    OperatorDef* same = result_.add_op();
    *same = op;
    FollowControlInputs(same);
    for (const std::string& output : op.output()) Forget(output);
  }
  // A control input waits for the blob that there is.
  void FollowControlInputs(OperatorDef* op) {
    for (std::string& blob : *op->mutable_control_input()) {
      if (absent_.count(blob)) blob = MovedName(blob);
    }
  }
  // The blob gets a new value.
  void Forget(const std::string& blob) {
    moved_.erase(blob);
    absent_.erase(blob);
  }

  const NetDef& net_;
  Workspace* ws_;
  const Dataflow flow_;
  std::set<std::string> kept_;
  NetDef result_;
  std::set<std::string> names_;                     // of all blobs of the net
  std::map<std::string, std::string> moved_names_;  // by blob
  std::set<std::string> moved_filters_;
  std::set<std::string> moved_;   // blobs whose present value is there in NHWC
  std::set<std::string> absent_;  // and in NHWC only
};

}  // namespace

bool AddsToChannels(const OperatorDef& op) {
  const std::string& type = op.type();
  const ArgumentHelper arguments(op);
  return (type == "Add" || type == "Sub" || type == "Mul" || type == "Div") &&
         op.input_size() == 2 && arguments.GetSingleArgument<bool>("broadcast", false) &&
         arguments.GetSingleArgument<int>("axis", -1) == 1;
}

int MoveToChannelsLast(NetDef* net, Workspace* ws, const std::set<std::string>& keep) {
  const bool nested = std::any_of(net->op().begin(), net->op().end(), HasNetArgument);
  if (nested || !IsOnCpu(*net)) {
    VLOG(1) << "net " << net->name() << " stays in NCHW: it "
            << (nested ? "runs other nets" : "has operators on devices");
    return 0;
  }
  const int moved = Mover(*net, ws, keep).Run(net);
  VLOG(1) << "net " << net->name() << ": " << moved << " operators run in NHWC now";
  return moved;
}

}  // namespace caffe2
