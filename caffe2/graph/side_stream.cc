#include "caffe2/graph/side_stream.h"

#include <set>
#include <string>

#include "caffe2/core/argument.h"
#include "caffe2/core/device.h"

namespace caffe2 {
namespace {

bool FormsBoth(const OperatorDef& op) {
  static const std::set<std::string> fused = {"NormReluConvStatsGradient",
                                              "NormSumReluConvStatsGradient",
                                              "NormSumNormReluConvStatsGradient"};
  static const std::set<std::string> plain = {"ConvGradient", "Conv1DGradient", "Conv2DGradient",
                                              "Conv3DGradient"};
  if (fused.count(op.type())) return true;
  const bool no_bias = ArgumentHelper(op).GetSingleArgument<bool>("no_bias", false);
  return plain.count(op.type()) != 0 && op.output_size() > (no_bias ? 1 : 2);
}

}  // namespace

int UseSideStreams(NetDef* net) {
  int changed = 0;
  for (OperatorDef& op : *net->mutable_op()) {
    const DeviceOption& option = op.has_device_option() ? op.device_option() : net->device_option();
    if (ToDevice(option).type != CUDA || !FormsBoth(op)) continue;
    SetArgument(&op, "side_stream", true);
    ++changed;
  }
  return changed;
}

}  // namespace caffe2
