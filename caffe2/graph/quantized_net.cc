#include "caffe2/graph/quantized_net.h"

#include <algorithm>
#include <set>

#include "caffe2/core/argument.h"
#include "caffe2/core/workspace.h"
#include "caffe2/graph/dataflow.h"
#include "caffe2/graph/quantized_params.h"

namespace caffe2 {
namespace {

constexpr size_t kImageAxes = 4;

bool IsConvolution(const std::string& type) {
  static const std::set<std::string> types = {"Conv", "ConvRelu", "ConvSum", "ConvSumRelu"};
  return types.count(type) != 0;
}
// Their results have the levels of their inputs.
bool KeepsLevels(const std::string& type) {
  static const std::set<std::string> types = {"MaxPool", "Relu", "Concat", "ChannelShuffle"};
  return types.count(type) != 0;
}
// Become Int8 operators if their inputs are levels.
bool Follows(const std::string& type) {
  return KeepsLevels(type) || type == "AveragePool" || type == "Sum";
}

// Blobs that must have one quantization, by the name of one of them.
class Groups {
 public:
  std::string Find(const std::string& blob) const {
    const auto found = parents_.find(blob);
    return found == parents_.end() ? blob : Find(found->second);
  }
  void Join(const std::string& a, const std::string& b) {
    if (Find(a) != Find(b)) parents_[Find(a)] = Find(b);
  }

 private:
  std::map<std::string, std::string> parents_;
};

class Writer {
 public:
  Writer(const NetDef& net, const std::vector<std::string>& inputs,
         const std::map<std::string, ValueRange>& ranges, bool per_channel, Workspace* ws)
      : net_(net),
        flow_(net),
        inputs_(inputs),
        ranges_(ranges),
        params_(ws, per_channel, NamesOf(net)),
        ws_(ws) {}

  NetDef Run() {
    for (int i = 0; i < net_.op_size(); ++i) Plan(i);
    CAFFE_ENFORCE(std::count(is_int8_.begin(), is_int8_.end(), true) > 0, "net ", net_.name(),
                  " has no operator that can be quantized: it has no Conv over images and no FC "
                  "with constant float parameters");
    ChooseQuantizations();
    for (int i = 0; i < net_.op_size(); ++i) {
      if (is_int8_[i]) {
        WriteInt8(i);
      } else {
        WriteFloat(net_.op(i));
      }
    }
    for (const std::string& output : net_.external_output()) Floats(output);
    AddExternals();
    return result_;
  }

 private:
  static std::set<std::string> NamesOf(const NetDef& net) {
    std::set<std::string> names(net.external_input().begin(), net.external_input().end());
    for (const OperatorDef& op : net.op()) names.insert(op.output().begin(), op.output().end());
    return names;
  }

  // Step 1: which operators, and the layout of levels.

  const Tensor* Find(const std::string& blob) const {
    const Blob* found = ws_->GetBlob(blob);
    const Tensor* tensor = found != nullptr ? BlobTensor(*found) : nullptr;
    return tensor != nullptr && tensor->IsType<float>() && tensor->has_data() ? tensor : nullptr;
  }
  bool IsParameter(const std::string& blob) const {
    return !flow_.IsWritten(blob) && Find(blob) != nullptr &&
           std::find(inputs_.begin(), inputs_.end(), blob) == inputs_.end();
  }
  bool IsImage(const std::string& blob) const {
    return Find(blob) != nullptr && Find(blob)->dim() == static_cast<int>(kImageAxes);
  }

  // Levels of the blob are N x H x W x C where the blob itself is N x C x H x W.
  bool IsTransposed(const OperatorDef& op) const { return OrderOf(op) == "NCHW"; }

  bool CanQuantizeConv(const OperatorDef& op) const {
    const bool sum = op.type().find("Sum") != std::string::npos;
    const int parameters = op.input_size() - (sum ? 1 : 0);
    for (int i = 1; i < parameters; ++i) {
      if (!IsParameter(op.input(i))) return false;
    }
    return parameters >= 2 && IsImage(op.input(0)) && IsImage(op.input(1)) && HasRanges(op);
  }
  bool CanQuantizeFC(const OperatorDef& op) const {
    const ArgumentHelper arguments(op);
    return arguments.GetSingleArgument<int>("axis", 1) == 1 &&
           arguments.GetSingleArgument<int>("axis_w", 1) == 1 && op.input_size() == 3 &&
           IsParameter(op.input(1)) && IsParameter(op.input(2)) && HasRanges(op);
  }
  bool HasRanges(const OperatorDef& op) const {
    const bool sum = op.type().find("Sum") != std::string::npos;
    return ranges_.count(op.input(0)) && ranges_.count(op.output(0)) &&
           (!sum || ranges_.count(op.input(op.input_size() - 1)));
  }
  bool CanFollow(int position) const {
    const OperatorDef& op = net_.op(position);
    for (const std::string& input : op.input()) {
      if (!is_transposed_.count(input) || !ranges_.count(input)) return false;
      if (is_transposed_.at(input) != is_transposed_.at(op.input(0))) return false;
    }
    const bool ordered =
        op.type().find("Pool") != std::string::npos || op.type() == "ChannelShuffle";
    if (ordered && (!IsImage(op.input(0)) || is_transposed_.at(op.input(0)) != IsTransposed(op))) {
      return false;
    }
    for (int i = 1; i < op.output_size(); ++i) {
      if (flow_.Escapes(position, i) || !flow_.ReadersOf(position, i).empty()) return false;
    }
    if (op.type() == "Concat" && ArgumentHelper(op).GetSingleArgument<bool>("add_axis", false)) {
      return false;
    }
    return op.type() != "Sum" || SameShapes(op);
  }
  bool SameShapes(const OperatorDef& op) const {
    return std::all_of(op.input().begin(), op.input().end(), [&](const std::string& input) {
      return Find(input)->sizes() == Find(op.input(0))->sizes();
    });
  }
  void Plan(int i) {
    const OperatorDef& op = net_.op(i);
    const bool conv = IsConvolution(op.type()) && CanQuantizeConv(op);
    const bool fc = op.type() == "FC" && CanQuantizeFC(op);
    const bool int8 = conv || fc || (Follows(op.type()) && CanFollow(i));
    is_int8_.push_back(int8);
    if (!int8) return;
    is_transposed_[op.output(0)] = conv ? IsTransposed(op) : !fc && is_transposed_.at(op.input(0));
  }

  // Step 2: one quantization for each group of blobs.

  bool IsRectified(const std::string& blob, int writer) const {
    const std::vector<int>& readers = flow_.ReadersOf(writer, 0);
    return !flow_.Escapes(writer, 0) && !readers.empty() &&
           std::all_of(readers.begin(), readers.end(), [&](int reader) {
             return is_int8_[reader] && net_.op(reader).type() == "Relu" &&
                    net_.op(reader).input(0) == blob;
           });
  }
  void ChooseQuantizations() {
    for (int i = 0; i < net_.op_size(); ++i) {
      if (!is_int8_[i] || !KeepsLevels(net_.op(i).type())) continue;
      for (const std::string& input : net_.op(i).input()) groups_.Join(input, net_.op(i).output(0));
    }
    // A Relu cuts off what lies below 0, so the levels for that would be lost.
    std::set<std::string> rectified;
    for (int i = 0; i < net_.op_size(); ++i) {
      const std::string& blob = net_.op(i).output_size() > 0 ? net_.op(i).output(0) : "";
      if (is_int8_[i] && IsRectified(blob, i)) rectified.insert(blob);
    }
    for (const auto& [blob, range] : ranges_) {
      if (rectified.count(blob)) continue;
      ValueRange& all = group_ranges_[groups_.Find(blob)];
      all = {std::min(all.min, range.min), std::max(all.max, range.max)};
    }
  }
  LevelScale ScaleOf(const std::string& blob) const {
    return LevelScale::For(group_ranges_.at(groups_.Find(blob)));
  }

  // Step 3: the operators.

  OperatorDef* Add(const std::string& type, const std::vector<std::string>& inputs,
                   const std::string& output) {
    OperatorDef* op = result_.add_op();
    op->set_type(type);
    for (const std::string& input : inputs) op->add_input(input);
    op->add_output(output);
    return op;
  }
  static void SetScale(const LevelScale& scale, OperatorDef* op) {
    SetArgument(op, "Y_scale", scale.scale);
    SetArgument(op, "Y_zero_point", scale.zero_point);
  }

  // A blob's levels, transposed or not. Floats are quantized.
  std::string Levels(const std::string& blob, bool transposed) {
    const auto found = levels_.find({blob, transposed});
    if (found != levels_.end()) return found->second;
    const std::string name = params_.NewName(blob + (transposed ? "_int8_nhwc" : "_int8"));
    if (transposed) {  // levels, which are a quarter of the bytes
      OperatorDef* op = Add("Int8Transpose", {Levels(blob, false)}, name);
      SetArgument(op, "axes", std::vector<int>{0, 2, 3, 1});
      SetScale(ScaleOf(blob), op);  // Caffe2 needs it
    } else {
      SetScale(ScaleOf(blob), Add("Int8Quantize", {Floats(blob)}, name));
    }
    return levels_[{blob, transposed}] = name;
  }

  // The blob as in the float net; written from its levels if need be.
  const std::string& Floats(const std::string& blob) {
    if (!is_transposed_.count(blob) || !floats_.insert(blob).second) return blob;
    const bool transposed = is_transposed_.at(blob);
    std::string images = blob;
    if (transposed) images = params_.NewName(blob + "_nhwc");
    Add("Int8Dequantize", {levels_.at({blob, transposed})}, images);
    if (transposed) Add("NHWC2NCHW", {images}, blob);
    return blob;
  }

  void WriteFloat(const OperatorDef& op) {
    for (const std::string& input : op.input()) Floats(input);
    *result_.add_op() = op;
  }

  // True if no Int8 operator reads output 0 of operator i.
  bool IsReadAsFloat(int i) const {
    const std::vector<int>& readers = flow_.ReadersOf(i, 0);
    return std::none_of(readers.begin(), readers.end(), [&](int r) { return is_int8_[r]; });
  }

  void CopyArguments(const OperatorDef& from, bool ordered, OperatorDef* to) {
    static const std::set<std::string> left_out = {"order", "algo", "constant_filter",
                                                   "ws_nbytes_limit"};
    for (const Argument& argument : from.arg()) {
      if (!left_out.count(argument.name())) *to->add_arg() = argument;
    }
    if (ordered) SetArgument(to, "order", std::string("NHWC"));
  }

  void WriteInt8(int i) {
    const OperatorDef& op = net_.op(i);
    const std::string& type = op.type();
    const bool conv = IsConvolution(type), fc = type == "FC";
    OperatorDef quantized;
    if (conv || fc) {
      AddOperands(op, &quantized);
    } else {
      for (const std::string& input : op.input()) {
        quantized.add_input(Levels(input, is_transposed_.at(input)));
      }
    }
    quantized.set_type("Int8" + type);
    quantized.set_name(op.name());
    CopyArguments(op, conv || type.find("Pool") != std::string::npos || type == "ChannelShuffle",
                  &quantized);
    if (type == "Concat") SetArgument(&quantized, "axis", ConcatAxis(op));
    AddResult(i, &quantized);
  }

  // The axis of levels.
  int ConcatAxis(const OperatorDef& op) const {
    const int rank = static_cast<int>(Find(op.input(0))->dim());
    const ArgumentHelper arguments(op);
    int axis = arguments.GetSingleArgument<int>("axis", OrderOf(op) == "NHWC" ? rank - 1 : 1);
    if (axis < 0) axis += rank;
    if (!is_transposed_.at(op.input(0)) || axis == 0) return axis;
    return axis == 1 ? rank - 1 : axis - 1;
  }

  void AddOperands(const OperatorDef& op, OperatorDef* quantized) {
    const bool conv = op.type() != "FC";
    const bool sum = op.type().find("Sum") != std::string::npos;
    const std::string& x = op.input(0);
    // FC takes the levels that there are.
    const bool transposed =
        conv ? IsTransposed(op) : is_transposed_.count(x) && is_transposed_.at(x);
    quantized->add_input(Levels(x, transposed));
    const Tensor& filter = *Find(op.input(1));
    const bool has_bias = op.input_size() > (sum ? 3 : 2);
    const FilterLayout layout = !transposed ? FilterLayout::kSame
                                : conv      ? FilterLayout::kChannelsLast
                                            : FilterLayout::kColumnsLast;
    const QuantizedFilter made =
        params_.Add({op.input(1), &filter, layout, Find(x)->sizes(), ScaleOf(x).scale,
                     has_bias ? op.input(2) : "", has_bias ? Find(op.input(2)) : nullptr});
    quantized->add_input(made.filter);
    if (has_bias) quantized->add_input(made.bias);
    if (sum) quantized->add_input(Levels(op.input(op.input_size() - 1), transposed));
    if (!made.scales.empty()) SetArgument(quantized, "W_scales", made.scales);
    SetArgument(quantized, "constant_filter", 1);
  }

  // Output 0: floats if only float operators read it and the operator can write them, else levels.
  void AddResult(int i, OperatorDef* quantized) {
    const OperatorDef& op = net_.op(i);
    const std::string& blob = op.output(0);
    const bool transposed = is_transposed_.at(blob);
    static const std::set<std::string> write_floats = {"Conv", "ConvRelu", "FC", "AveragePool"};
    if (write_floats.count(op.type()) && IsReadAsFloat(i)) {
      const std::string images = transposed ? params_.NewName(blob + "_nhwc") : blob;
      quantized->add_output(images);
      SetArgument(quantized, "dequantize_output", 1);
      *result_.add_op() = *quantized;
      if (transposed) Add("NHWC2NCHW", {images}, blob);
      floats_.insert(blob);
      return;
    }
    const std::string name = params_.NewName(blob + "_int8");
    levels_[{blob, transposed}] = name;
    quantized->add_output(name);
    SetScale(ScaleOf(blob), quantized);
    *result_.add_op() = *quantized;
  }

  void AddExternals() {
    std::set<std::string> read;
    for (const OperatorDef& op : result_.op()) read.insert(op.input().begin(), op.input().end());
    for (const std::string& input : inputs_) result_.add_external_input(input);
    for (const std::string& input : net_.external_input()) {
      const bool fed = std::find(inputs_.begin(), inputs_.end(), input) != inputs_.end();
      if (!fed && read.count(input)) result_.add_external_input(input);
    }
    for (const std::string& made : params_.names()) result_.add_external_input(made);
    *result_.mutable_external_output() = net_.external_output();
  }

  const NetDef& net_;
  const Dataflow flow_;
  const std::vector<std::string> inputs_;
  const std::map<std::string, ValueRange>& ranges_;
  QuantizedParams params_;
  Workspace* ws_;
  NetDef result_;

  std::vector<bool> is_int8_;                  // by operator
  std::map<std::string, bool> is_transposed_;  // blobs whose levels are computed
  Groups groups_;
  std::map<std::string, ValueRange> group_ranges_;
  std::map<std::pair<std::string, bool>, std::string> levels_;  // (blob, transposed) -> name
  std::set<std::string> floats_;                                // written also as floats
};

}  // namespace

NetDef WriteQuantizedNet(const NetDef& net, const std::vector<std::string>& inputs,
                         const std::map<std::string, ValueRange>& ranges, bool per_channel,
                         Workspace* ws) {
  return Writer(net, inputs, ranges, per_channel, ws).Run();
}

}  // namespace caffe2
