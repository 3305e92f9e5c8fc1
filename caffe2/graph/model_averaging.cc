#include "caffe2/graph/model_averaging.h"

#include "caffe2/core/argument.h"
#include "caffe2/core/operator_gradient.h"

namespace caffe2 {
namespace {

std::string BlockModelOf(const std::string& param) { return param + "_block_model"; }

void AddOp(NetDef* net, const std::string& type, const std::vector<std::string>& inputs,
           const std::string& output, const Device& device,
           const std::vector<Argument>& args = {}) {
  OperatorDef* op = net->add_op();
  *op = GradientMakerBase::CreateOperatorDef(type, "average", inputs, {output}, args);
  *op->mutable_device_option() = ToDeviceOption(device);
}

void AddScale(NetDef* net, const std::string& blob, float scale, const Device& device) {
  AddOp(net, "Scale", {blob}, blob, device, {MakeArgument("scale", scale)});
}

// Calls add(blob, device) for each replica of each blob.
template <typename Add>
void ForEachReplica(const std::vector<ReplicatedBlob>& blobs, const DataParallelOptions& options,
                    const Add& add) {
  for (const ReplicatedBlob& blob : blobs) {
    for (size_t d = 0; d < blob.size(); ++d) add(blob[d], options.devices[d]);
  }
}

}  // namespace

std::string BlockMomentumOf(const std::string& param) { return param + "_block_momentum"; }

void AddModelAveraging(NetDef* net, const AveragedBlobs& blobs, const ModelUpdate& update,
                       const DataParallelOptions& options) {
  std::vector<ReplicatedBlob> all = blobs.params;
  all.insert(all.end(), blobs.states.begin(), blobs.states.end());
  const auto replicas =
      static_cast<float>(options.devices.size()) * static_cast<float>(options.num_shards);
  ForEachReplica(all, options, [&](const std::string& blob, const Device& device) {
    AddScale(net, blob, 1.f / replicas, device);
  });
  AddGradientReduction(net, PlanGradientBuckets(*net, all, blobs.shapes, options), options);
  if (update.IsMean()) return;
  ForEachReplica(blobs.params, options, [&](const std::string& param, const Device& device) {
    const std::string v = BlockMomentumOf(param), g = BlockModelOf(param);
    AddOp(net, "Sub", {param, g}, param, device);
    AddScale(net, param, update.learning_rate, device);
    AddScale(net, v, update.momentum, device);
    AddOp(net, "Add", {v, param}, v, device);
    AddOp(net, "Add", {g, v}, g, device);
    AddOp(net, "Copy", {g}, param, device);
  });
}

void AddBlockMomentum(NetDef* init_net, const std::vector<ReplicatedBlob>& params,
                      const DataParallelOptions& options) {
  ForEachReplica(params, options, [&](const std::string& param, const Device& device) {
    AddOp(init_net, "ConstantFill", {param}, BlockMomentumOf(param), device,
          {MakeArgument("value", 0.f)});
  });
}

void AddBlockModel(NetDef* net, const std::vector<ReplicatedBlob>& params,
                   const DataParallelOptions& options) {
  ForEachReplica(params, options, [&](const std::string& param, const Device& device) {
    AddOp(net, "Copy", {param}, BlockModelOf(param), device);
  });
}

}  // namespace caffe2
