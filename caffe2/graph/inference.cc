#include "caffe2/graph/inference.h"

#include <algorithm>
#include <vector>

#include "caffe2/core/argument.h"
#include "caffe2/core/device.h"
#include "caffe2/core/tensor_int8.h"
#include "caffe2/core/workspace.h"
#include "caffe2/graph/channels_last.h"
#include "caffe2/graph/dataflow.h"
#include "caffe2/graph/fusion.h"

namespace caffe2 {
namespace {

bool IsIdentity(const OperatorDef& op) {
  return op.type() == "StopGradient" ||
         (op.type() == "Dropout" && ArgumentHelper(op).GetSingleArgument<bool>("is_test", false));
}

void ReplaceInput(const std::string& from, const std::string& to, OperatorDef* op) {
  std::replace(op->mutable_input()->begin(), op->mutable_input()->end(), from, to);
  std::replace(op->mutable_control_input()->begin(), op->mutable_control_input()->end(), from, to);
}

// Makes the readers of the output of operator i, an identity, read its input instead. False if a
// reader needs the output.
bool BypassIdentity(int i, const Dataflow& flow, NetDef* net) {
  const std::string from = net->op(i).output(0), to = net->op(i).input(0);
  for (int output = 1; output < net->op(i).output_size(); ++output) {  // the mask
    if (flow.Escapes(i, output) || !flow.ReadersOf(i, output).empty()) return false;
  }
  if (from == to) return true;
  if (flow.Escapes(i, 0)) return false;
  const std::vector<int>& readers = flow.ReadersOf(i, 0);
  // The last reader must not write it either: not every operator can work in place.
  if (!readers.empty() && flow.IsWrittenBetween(to, i, readers.back() + 1)) return false;
  for (const int reader : readers) ReplaceInput(from, to, net->mutable_op(reader));
  return true;
}

std::set<std::string> ReadBlobs(const NetDef& net) {
  std::set<std::string> read;
  for (const OperatorDef& op : net.op()) read.insert(op.input().begin(), op.input().end());
  return read;
}

// Removes external inputs that operators read before and none reads now, such as the parameters of
// folded layers.
void RemoveUnreadInputs(const std::set<std::string>& before, NetDef* net) {
  const std::set<std::string> read = ReadBlobs(*net);
  auto* inputs = net->mutable_external_input();
  inputs->erase(std::remove_if(inputs->begin(), inputs->end(),
                               [&](const std::string& blob) {
                                 return before.count(blob) != 0 && read.count(blob) == 0;
                               }),
                inputs->end());
}

bool IsConvolution(const OperatorDef& op) {
  return op.type().rfind("Conv", 0) == 0 && op.type() != "ConvTranspose" && op.input_size() > 1;
}

// True for operators that take constant_filter and have their filter, or weights, as input 1.
bool HasFilter(const OperatorDef& op) {
  return IsConvolution(op) || op.type() == "FC" || op.type() == "FCTransposed";
}

std::set<std::string> InputsOf(const NetDef& net) {
  return {net.external_input().begin(), net.external_input().end()};
}

// Moves the net to NHWC, and removes folded filters of which only the copies in NHWC are needed.
// `older` are the blobs of the workspace from before the filters were folded.
void MoveWithFilters(const std::set<std::string>& older, const std::set<std::string>& keep,
                     NetDef* net, Workspace* ws) {
  const std::set<std::string> before = InputsOf(*net), read = ReadBlobs(*net);
  if (MoveToChannelsLast(net, ws, keep) == 0) return;
  RemoveUnreadInputs(read, net);
  const std::set<std::string> after = InputsOf(*net);
  for (const std::string& blob : before) {
    if (older.count(blob) == 0 && after.count(blob) == 0) ws->RemoveBlob(blob);
  }
}

// What the passes may fold, convert or transform.
std::set<std::string> ParametersOf(const NetDef& net, const Workspace& ws) {
  const Dataflow flow(net);
  std::set<std::string> parameters;
  for (const OperatorDef& op : net.op()) {
    const bool layer = HasFilter(op) || op.type() == "ConvTranspose" || op.type() == "SpatialBN";
    const bool arithmetic = AddsToChannels(op) && ws.HasBlob(op.input(1));
    if (!layer && !arithmetic) continue;
    for (int i = 1; i < op.input_size(); ++i) {
      if (!flow.IsWritten(op.input(i))) parameters.insert(op.input(i));
    }
  }
  return parameters;
}

void MarkConstantFilters(NetDef* net) {
  const Dataflow flow(*net);
  for (OperatorDef& op : *net->mutable_op()) {
    if (HasFilter(op) && !flow.IsWritten(op.input(1))) {
      SetArgument(&op, "constant_filter", 1);
    }
  }
}

// True if operator i, a convolution with a sum, can write its output over the accumulator.
bool CanWriteOverAccumulator(int i, const Dataflow& flow, const NetDef& net) {
  const OperatorDef& op = net.op(i);
  const std::string &from = op.output(0), &accumulator = op.input(op.input_size() - 1);
  const int writer = flow.WriterOf(i, op.input_size() - 1);
  if (from == accumulator || writer < 0 || flow.Escapes(i, 0)) return false;
  const auto& outputs = net.op(writer).output();
  const int output =
      static_cast<int>(std::find(outputs.begin(), outputs.end(), accumulator) - outputs.begin());
  if (flow.Escapes(writer, output) || flow.ReadersOf(writer, output).back() != i ||
      std::count(op.input().begin(), op.input().end(), accumulator) != 1) {
    return false;
  }
  if (flow.IsTouchedBetween(from, -1, i) || flow.IsWrittenBetween(from, i, net.op_size())) {
    return false;
  }
  const std::vector<int>& readers = flow.ReadersOf(i, 0);
  return readers.empty() || !flow.IsWrittenBetween(accumulator, i, readers.back() + 1);
}

void RemoveOperator(int i, NetDef* net) {
  std::vector<bool> removed(net->op_size());
  removed[i] = true;
  RemoveOperators(removed, net);
}

// True if the operator joins images N x H x W x C along the channels, and does nothing else.
bool JoinsChannels(const OperatorDef& op) {
  const ArgumentHelper arguments(op);
  if (op.type() != "Int8Concat" || op.output_size() != 1 || op.control_input_size() > 0 ||
      arguments.GetSingleArgument<bool>("add_axis", false)) {
    return false;
  }
  const int axis = arguments.GetSingleArgument<int>("axis", OrderOf(op) == "NHWC" ? -1 : 0);
  return axis == -1 || axis == 3;
}

// A convolution that writes channels [begin, begin + size) of joined images.
struct JoinedPart {
  int writer;
  int64_t begin, size;
};

// The operator that writes input j of the Int8Concat i, as a part of the result; its size is 0 if
// it cannot be one.
JoinedPart PartOf(int i, int j, int64_t begin, const Dataflow& flow, const NetDef& net,
                  const Workspace& ws) {
  const JoinedPart none{-1, 0, 0};
  const int writer = flow.WriterOf(i, j);
  if (writer < 0 || !flow.WhyShared(writer, 0, i).empty()) return none;
  const OperatorDef& op = net.op(writer);
  const ArgumentHelper arguments(op);
  if ((op.type() != "Int8Conv" && op.type() != "Int8ConvRelu") ||
      arguments.HasArgument("Y_channels") ||
      arguments.GetSingleArgument<bool>("dequantize_output", false)) {
    return none;
  }
  const Blob* filter = ws.GetBlob(op.input(1));
  if (flow.IsWritten(op.input(1)) || filter == nullptr || !filter->IsType<int8::Int8TensorCPU>() ||
      filter->Get<int8::Int8TensorCPU>().t.dim() == 0) {
    return none;
  }
  return {writer, begin, filter->Get<int8::Int8TensorCPU>().t.size(0)};
}

// The parts of the Int8Concat i in the order in which they are written. None if it must stay.
std::vector<JoinedPart> PartsOf(int i, const Dataflow& flow, const NetDef& net,
                                const Workspace& ws) {
  const OperatorDef& op = net.op(i);
  std::vector<JoinedPart> parts;
  int64_t channels = 0;
  std::set<std::pair<float, int>> quantizations;
  for (int j = 0; j < op.input_size(); ++j) {
    const JoinedPart part = PartOf(i, j, channels, flow, net, ws);
    const bool again = std::any_of(parts.begin(), parts.end(), [&](const JoinedPart& other) {
      return other.writer == part.writer;
    });
    if (part.size == 0 || again) return {};
    const ArgumentHelper arguments(net.op(part.writer));
    quantizations.emplace(arguments.GetSingleArgument<float>("Y_scale", 1),
                          arguments.GetSingleArgument<int>("Y_zero_point", 0));
    channels += part.size;
    parts.push_back(part);
  }
  std::sort(parts.begin(), parts.end(),
            [](const JoinedPart& a, const JoinedPart& b) { return a.writer < b.writer; });
  if (parts.empty() || quantizations.size() > 1 ||
      flow.IsTouchedBetween(op.output(0), parts[0].writer - 1, i)) {
    return {};
  }
  return parts;
}

}  // namespace

int WriteJoinsInPlace(NetDef* net, const Workspace& ws, const std::set<std::string>& keep) {
  int count = 0;
  for (int i = 0; i < net->op_size(); ++i) {
    if (!JoinsChannels(net->op(i))) continue;
    const std::vector<JoinedPart> parts = PartsOf(i, Dataflow(*net, keep), *net, ws);
    if (parts.empty()) continue;
    const std::string joined = net->op(i).output(0);
    int64_t channels = 0;
    for (const JoinedPart& part : parts) channels += part.size;
    for (const JoinedPart& part : parts) {
      OperatorDef* op = net->mutable_op(part.writer);
      op->set_output(0, joined);
      SetArgument(op, "Y_channel", part.begin);
      if (part.writer == parts[0].writer) {
        SetArgument(op, "Y_channels", channels);
      } else {
        op->set_type(op->type() + "Join");
        op->add_input(joined);
      }
    }
    RemoveOperator(i, net);
    --i;
    ++count;
  }
  return count;
}

int WriteSumsInPlace(NetDef* net, const std::set<std::string>& keep) {
  int count = 0;
  for (int i = 0; i < net->op_size(); ++i) {
    static const std::set<std::string> sums = {"ConvSum", "ConvSumRelu", "Int8ConvSum",
                                               "Int8ConvSumRelu"};
    if (sums.count(net->op(i).type()) == 0 ||
        ToDevice(DeviceOptionOf(net->op(i), *net)).type != CPU) {
      continue;
    }
    const Dataflow flow(*net, keep);
    if (!CanWriteOverAccumulator(i, flow, *net)) continue;
    OperatorDef* op = net->mutable_op(i);
    const std::string from = op->output(0), to = op->input(op->input_size() - 1);
    op->set_output(0, to);
    for (const int reader : flow.ReadersOf(i, 0)) ReplaceInput(from, to, net->mutable_op(reader));
    ++count;
  }
  return count;
}

int RemoveIdentities(NetDef* net, const std::set<std::string>& keep) {
  int count = 0;
  for (int i = 0; i < net->op_size(); ++i) {
    if (!IsIdentity(net->op(i))) continue;
    const Dataflow flow(*net, keep);
    if (!BypassIdentity(i, flow, net)) continue;
    RemoveOperator(i, net);
    --i;
    ++count;
  }
  return count;
}

std::set<std::string> OptimizeForInference(NetDef* net, Workspace* ws,
                                           const InferenceOptions& options) {
  const std::set<std::string> read = ReadBlobs(*net);
  const std::vector<std::string> blobs = ws->Blobs();
  std::set<std::string> older = InputsOf(*net);
  older.insert(blobs.begin(), blobs.end());
  std::set<std::string> parameters = ParametersOf(*net, *ws);
  RemoveIdentities(net, options.keep);
  if (options.fold_batch_norm) FoldBatchNorm(net, ws, options.keep);
  if (options.fuse) FuseOperators(net, {FusionLevel::kAll, options.keep});
  if (options.channels_last) MoveWithFilters(older, options.keep, net, ws);
  WriteSumsInPlace(net, options.keep);
  if (options.constant_filters) {
    WriteJoinsInPlace(net, *ws, options.keep);
    MarkConstantFilters(net);
  }
  RemoveUnreadInputs(read, net);
  return parameters;
}

}  // namespace caffe2
