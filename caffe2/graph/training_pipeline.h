// The passes that prepare a net for training, in the one order in which they run:
//
//   1. the caller builds forward passes and losses
//   2. PrepareForward   FuseOperators, FuseConvolutionsWithNorms
//   3. the caller adds the backward pass, the sums over replicas and the updates
//   4. PrepareTraining  FuseGradientSums, FuseUpdates, AddFilterCopies, KeepFilterGradientsIn16Bit,
//                       in-order execution, UseSideStreams
//   5. the caller gives the parameters their values in a workspace
//   6. PlaceTraining    PlaceArena, PlanMemory
//
// The trainers, the benchmarks and the Python package call all three. No pass runs a net: choices
// that need measured times come in as data (FusionChoices).
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "caffe2/core/device.h"
#include "caffe2/core/workspace.h"
#include "caffe2/graph/conv_norm_fusion.h"
#include "caffe2/graph/flat_update.h"
#include "caffe2/graph/fusion.h"
#include "caffe2/graph/fusion_choice.h"
#include "caffe2/graph/memory_plan.h"
#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// Which passes run, and how.
struct TrainingPasses {
  FusionLevel fuse = FusionLevel::kAll;
  ConvNormFusion fuse_conv = ConvNormFusion::kNone;
  FusionChoices choices;       // overrule fuse_conv, each for one candidate
  bool gradient_sums = false;  // FuseGradientSums
  bool fused_updates = false;  // FuseUpdates
  // Element type of AddFilterCopies for the parameters whose updates are fused; FLOAT: no copies.
  TensorProto::DataType filter_copies = TensorProto::FLOAT;
  bool half_gradients = false;  // KeepFilterGradientsIn16Bit, for filters with copies
  int side_work = 0;            // most_open of UseSideStreams; 0: no side streams
  bool memory_plan = true;      // PlanMemory
};

// The passes that are a gain on the device for activations of the order and element type: fusions
// and planned memory everywhere, all else on GPUs only. half_gradients and side_work stay off.
TrainingPasses ChooseTrainingPasses(DeviceType device, const std::string& order,
                                    TensorProto::DataType type);

// Step 2, for one replica or all. Blobs in `keep` stay, here and in the other steps: those that are
// fetched, observed or saved.
void PrepareForward(const TrainingPasses& passes, const std::set<std::string>& keep, NetDef* net);

// What `choose` answers to the candidates that step 2 finds in the net, to become passes.choices.
FusionChoices ChooseFusions(NetDef net, const TrainingPasses& passes,
                            const std::set<std::string>& keep, const ChooseFusion& choose);

// What PlaceTraining must know of a net.
struct PreparedTraining {
  std::vector<ParameterArena> arenas;
  int filter_copies = 0;   // filters with 16-bit copies
  int half_gradients = 0;  // gradients of filters that are in 16 bits
  bool memory_plan = false;
};

// Step 4. `init_net` fills the constants of the updates. With a memory plan, a net whose executor
// (NetDef.type) may reorder operators gets the argument in_order.
PreparedTraining PrepareTraining(const NetDef& init_net, const TrainingPasses& passes,
                                 const std::set<std::string>& keep, NetDef* net);

// Step 6, before the net first runs. `ws` holds what the net reads from outside; blobs that it
// lacks, or whose shape depends on them, keep memory of their own. Memory is planned for the GPUs
// of the net, or for the CPU if it has none. Returns the plan of each device.
std::vector<std::pair<Device, MemoryPlan>> PlaceTraining(const NetDef& net,
                                                         const PreparedTraining& prepared,
                                                         const std::set<std::string>& keep,
                                                         Workspace* ws);

}  // namespace caffe2
