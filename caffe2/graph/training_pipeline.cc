#include "caffe2/graph/training_pipeline.h"

#include <algorithm>
#include <map>

#include "caffe2/core/argument.h"
#include "caffe2/core/nested_net.h"
#include "caffe2/core/operator.h"
#include "caffe2/core/workspace.h"
#include "caffe2/graph/dataflow.h"
#include "caffe2/graph/gradient_sum.h"
#include "caffe2/graph/half_gradients.h"
#include "caffe2/graph/unused_gradient.h"

namespace caffe2 {
namespace {

// True if the executor of the net may run its operators in another order than the net has. Planned
// memory would then be wrong.
bool MayReorder(const NetDef& net) {
  static const std::set<std::string> ordered = {"", "simple", "cuda_graph"};
  return ordered.count(net.type()) == 0 &&
         !ArgumentHelper(net).GetSingleArgument<bool>("in_order", false);
}

// The GPUs of the net, or the CPU.
std::vector<Device> PlannedDevices(const NetDef& net) {
  std::vector<Device> devices;
  for (const OperatorDef& op : net.op()) {
    const Device device = ToDevice(DeviceOptionOf(op, net));
    const bool is_new = std::find(devices.begin(), devices.end(), device) == devices.end();
    if (device.type != CPU && is_new) devices.push_back(device);
  }
  return devices.empty() ? std::vector<Device>{Device{}} : devices;
}

// The shapes of the blobs of the net that can be inferred from blobs in the workspace.
std::map<std::string, TensorShape> ShapesOf(const NetDef& net, const std::set<std::string>& placed,
                                            const Workspace& ws) {
  std::set<std::string> given = placed;
  for (const std::string& blob : OperandsOf(net).reads) given.insert(blob);
  std::map<std::string, TensorShape> shapes;
  for (const std::string& name : given) {
    const Blob* blob = ws.GetBlob(name);
    if (blob == nullptr) continue;
    const TensorShape shape = GetTensorShapeOfBlob(*blob);
    if (!shape.unknown_shape()) shapes[name] = shape;
  }
  return InferBlobShapesAndTypes(std::move(shapes), {&net});
}

}  // namespace

TrainingPasses ChooseTrainingPasses(DeviceType device, const std::string& order,
                                    TensorProto::DataType type) {
  const bool on_gpu = device != CPU;
  return {.fuse_conv = ChooseConvNormFusion(device, order, type),
          .gradient_sums = true,
          .fused_updates = true,
          .filter_copies = on_gpu ? type : TensorProto::FLOAT};
}

void PrepareForward(const TrainingPasses& passes, const std::set<std::string>& keep, NetDef* net) {
  FuseOperators(net, {passes.fuse, keep});
  FuseConvolutionsWithNorms(net, passes.fuse_conv, keep);
}

PreparedTraining PrepareTraining(const NetDef& init_net, const TrainingPasses& passes,
                                 const std::set<std::string>& keep, NetDef* net) {
  PreparedTraining prepared;
  prepared.memory_plan = passes.memory_plan;
  if (passes.unused_gradients) RemoveUnusedGradients(net, keep);
  if (passes.gradient_sums) FuseGradientSums(net, keep);
  if (passes.fused_updates) prepared.arenas = FuseUpdates(init_net, net);
  if (passes.filter_copies != TensorProto::FLOAT) {
    prepared.filter_copies = AddFilterCopies(passes.filter_copies, net, &prepared.arenas);
  }
  if (passes.half_gradients) {
    prepared.half_gradients = KeepFilterGradientsIn16Bit(net, &prepared.arenas);
  }
  if (passes.memory_plan && MayReorder(*net)) *net->add_arg() = MakeArgument("in_order", 1);
  return prepared;
}

std::vector<std::pair<Device, MemoryPlan>> PlaceTraining(const NetDef& net,
                                                         const PreparedTraining& prepared,
                                                         const std::set<std::string>& keep,
                                                         Workspace* ws) {
  std::set<std::string> placed;
  for (const ParameterArena& arena : prepared.arenas) {
    PlaceArena(arena, ws);
    placed.insert(arena.gradients.begin(), arena.gradients.end());
    placed.insert(arena.copies.begin(), arena.copies.end());
  }
  std::vector<std::pair<Device, MemoryPlan>> plans;
  if (!prepared.memory_plan) return plans;
  CAFFE_ENFORCE(!MayReorder(net), "net ", net.name(), " of type ", net.type(),
                " may reorder operators that share memory: set its type before PrepareTraining");
  const std::map<std::string, TensorShape> shapes = ShapesOf(net, placed, *ws);
  placed.insert(keep.begin(), keep.end());
  for (const Device& device : PlannedDevices(net)) {
    // Each device has a block of its own; blobs that other devices write are not in it.
    std::set<std::string> elsewhere = placed;
    for (const OperatorDef& op : net.op()) {
      if (ToDevice(DeviceOptionOf(op, net)) == device) continue;
      elsewhere.insert(op.output().begin(), op.output().end());
    }
    plans.emplace_back(device, PlanMemory(net, shapes, elsewhere));
    ApplyMemoryPlan(plans.back().second, device, ws);
  }
  return plans;
}

}  // namespace caffe2
