#include "caffe2/graph/unused_gradient.h"

#include <algorithm>
#include <vector>

#include "caffe2/core/logging.h"
#include "caffe2/graph/dataflow.h"

namespace caffe2 {
namespace {

// True if the last output is the optional gradient of the input: after the gradients of the weights
// and, if the layer has one, of the bias.
bool EndsWithInputGradient(const OperatorDef& op) {
  if (op.type() == "FCGradient" || op.type() == "FCTransposedGradient") {
    return op.output_size() == 3;
  }
  return IsConvGradient(op) && ConvInputGradientOf(op) >= 0;
}

}  // namespace

int RemoveUnusedGradients(NetDef* net, const std::set<std::string>& keep) {
  const Dataflow flow(*net, keep);
  std::vector<bool> removed(net->op_size(), false);
  std::vector<int> shortened;
  const auto is_unused = [&](int op, int output) {
    const std::vector<int>& readers = flow.ReadersOf(op, output);
    return !flow.Escapes(op, output) &&
           std::all_of(readers.begin(), readers.end(), [&](int reader) { return removed[reader]; });
  };
  int unused = 0;
  // Backwards, so that the readers of a gradient are decided before it.
  for (int i = net->op_size() - 1; i >= 0; --i) {
    const OperatorDef& op = net->op(i);
    const int last = op.output_size() - 1;
    if (!op.is_gradient_op() || last < 0 || !is_unused(i, last)) continue;
    if (last == 0 && op.type() != "PythonGradient") {
      removed[i] = true;
      ++unused;
    } else if (EndsWithInputGradient(op)) {
      shortened.push_back(i);
    }
  }
  for (const int i : shortened) net->mutable_op(i)->mutable_output()->RemoveLast();
  RemoveOperators(removed, net);
  unused += static_cast<int>(shortened.size());
  VLOG(1) << "net " << net->name() << ": " << unused << " gradients that nobody reads are removed";
  return unused;
}

}  // namespace caffe2
