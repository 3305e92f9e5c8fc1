#include "caffe2/graph/inference.h"

#include <algorithm>
#include <vector>

#include "caffe2/core/argument.h"
#include "caffe2/graph/dataflow.h"
#include "caffe2/graph/fusion.h"

namespace caffe2 {
namespace {

bool IsIdentity(const OperatorDef& op) {
  return op.type() == "StopGradient" ||
         (op.type() == "Dropout" && ArgumentHelper(op).GetSingleArgument<bool>("is_test", false));
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
  for (const int reader : readers) {
    OperatorDef* op = net->mutable_op(reader);
    std::replace(op->mutable_input()->begin(), op->mutable_input()->end(), from, to);
    std::replace(op->mutable_control_input()->begin(), op->mutable_control_input()->end(), from,
                 to);
  }
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

void MarkConstantFilters(NetDef* net) {
  const Dataflow flow(*net);
  for (OperatorDef& op : *net->mutable_op()) {
    if (op.type().rfind("Conv", 0) == 0 && op.type() != "ConvTranspose" && op.input_size() > 1 &&
        !flow.IsWritten(op.input(1))) {
      SetArgument(&op, "constant_filter", 1);
    }
  }
}

}  // namespace

int RemoveIdentities(NetDef* net, const std::set<std::string>& keep) {
  int count = 0;
  for (int i = 0; i < net->op_size(); ++i) {
    if (!IsIdentity(net->op(i))) continue;
    const Dataflow flow(*net, keep);
    if (!BypassIdentity(i, flow, net)) continue;
    std::vector<bool> removed(net->op_size());
    removed[i] = true;
    RemoveOperators(removed, net);
    --i;
    ++count;
  }
  return count;
}

void OptimizeForInference(NetDef* net, Workspace* ws, const InferenceOptions& options) {
  const std::set<std::string> read = ReadBlobs(*net);
  RemoveIdentities(net, options.keep);
  if (options.fold_batch_norm) FoldBatchNorm(net, ws, options.keep);
  if (options.fuse) FuseOperators(net, {FusionLevel::kAll, options.keep});
  if (options.constant_filters) MarkConstantFilters(net);
  RemoveUnreadInputs(read, net);
}

}  // namespace caffe2
