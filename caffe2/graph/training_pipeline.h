// The passes that prepare a net for training, in their only order:
//
//   1. the caller builds forward passes and losses
//   2. PrepareForward   FuseOperators, FuseConvolutionsWithNorms
//   3. the caller adds the backward pass, the gradient reduction and the updates
//   4. PrepareTraining  RemoveUnusedGradients, FuseGradientSums, FuseUpdates, AddFilterCopies,
//                       KeepFilterGradientsIn16Bit, in-order execution
//   5. the caller gives the parameters their values in a workspace
//   6. PlaceTraining    PlaceArena, PlanMemory
//
// The trainers, the benchmarks and the Python package call all three functions. No pass runs a net.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "caffe2/core/device.h"
#include "caffe2/graph/conv_norm_fusion.h"
#include "caffe2/graph/flat_update.h"
#include "caffe2/graph/fusion.h"
#include "caffe2/graph/memory_plan.h"
#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

class Workspace;

// Which passes run, and how.
struct TrainingPasses {
  FusionLevel fuse = FusionLevel::kAll;
  ConvNormFusion fuse_conv = ConvNormFusion::kNone;
  bool unused_gradients = true;  // RemoveUnusedGradients
  bool gradient_sums = false;    // FuseGradientSums
  bool fused_updates = false;    // FuseUpdates
  // Element type of AddFilterCopies for the parameters whose updates are fused; FLOAT: no copies.
  TensorProto::DataType filter_copies = TensorProto::FLOAT;
  bool half_gradients = false;  // KeepFilterGradientsIn16Bit, for filters with copies
  bool memory_plan = true;      // PlanMemory
};

// The passes that make training faster on the device, for activations of this order and element
// type. On all devices: fused operators, fused updates, fused sums of gradients, no unused
// gradients, planned memory. On GPUs only: the others, except for half_gradients, which stays off.
TrainingPasses ChooseTrainingPasses(DeviceType device, const std::string& order,
                                    TensorProto::DataType type);

// Step 2, for one replica or all. `keep`, here and in the other steps, names blobs that are
// fetched, observed or saved: the net still computes them.
void PrepareForward(const TrainingPasses& passes, const std::set<std::string>& keep, NetDef* net);

// The result of PrepareTraining, which PlaceTraining needs.
struct PreparedTraining {
  std::vector<ParameterArena> arenas;
  int filter_copies = 0;   // filters with 16-bit copies
  int half_gradients = 0;  // filters whose gradients are in 16 bits
  bool memory_plan = false;
};

// Step 4. `init_net` fills the constants of the updates. With a memory plan, a net whose executor
// (NetDef.type) may reorder operators gets the argument in_order.
PreparedTraining PrepareTraining(const NetDef& init_net, const TrainingPasses& passes,
                                 const std::set<std::string>& keep, NetDef* net);

// Step 6, before the net first runs. `ws` holds the external inputs of the net. Blobs whose shape
// cannot be inferred from them keep memory of their own. Memory is planned for the GPUs of the net,
// or for the CPU if the net uses none. Returns the plan of each device. Throws EnforceNotMet if the
// type of the net was changed since PrepareTraining to one that may reorder operators.
std::vector<std::pair<Device, MemoryPlan>> PlaceTraining(const NetDef& net,
                                                         const PreparedTraining& prepared,
                                                         const std::set<std::string>& keep,
                                                         Workspace* ws);

}  // namespace caffe2
