// What RecurrentNetwork and its gradient share: a step net that runs once for each step of a
// sequence.
//
// Every step has a workspace of its own, a child of the outer net's through one that all share:
//
//   outer      sequence [T, N, ...], parameters, states [T + 1, N, D] and their gradients
//     shared   what the backward step net makes, and what it recomputes instead of keeping
//       step t the number t, the activations of step t
//
// A step net knows blobs of one step only. Links tie them to the long tensors outside: operators
// put before the step net make an inner blob a view of row t + offset of an outer one, so that the
// net reads its input and writes its states in place. Row 0 of a state is its initial value, row
// t + 1 the result of step t, and the outputs of RecurrentNetwork are views of states.
//
// The backward step net runs in the same workspaces, last step first, and finds the activations
// there. Gradients of states are linked as the states are: row t, which step t writes, is what step
// t - 1 reads, after the gradient that comes from outside has been added to it. Gradients of
// parameters are summed over the steps.
//
// The workspaces lie in a blob, the last output, where the gradient operator finds them. Each
// operator keeps a net for each step, so that a run on a sequence no longer than those before makes
// no workspace, net or blob.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "caffe2/core/device_waits.h"
#include "caffe2/core/net.h"
#include "caffe2/core/operator.h"
#include "caffe2/core/workspace.h"

namespace caffe2 {

// Step t of the step net sees rows t + offset to t + offset + window - 1 of a tensor outside.
struct RecurrentLink {
  std::string internal;
  std::string external;
  int offset = 0;
  int window = 1;
};

// The links in the arguments "<prefix>link_internal", "_external", "_offset" and "_window" (1 where
// it is left out). Throws if the lists differ in length or a window is not positive.
std::vector<RecurrentLink> ReadLinks(const OperatorDef& def, const std::string& prefix);

// The net in an argument, given as a net or, as by old builders, as its text. Throws if there is
// none or it cannot be read.
NetDef ReadStepNet(const OperatorDef& def, const std::string& argument);
// True if the operator has a backward step net, so that activations have to be kept.
bool HasBackwardStepNet(const OperatorDef& def);

// Puts operators before those of the net.
void PrependOperators(const std::vector<OperatorDef>& ops, NetDef* net);
// Puts the operators that apply the links before those of the net.
void PrependLinks(const std::vector<RecurrentLink>& links, const std::string& timestep,
                  const DeviceOption& device, NetDef* net);

// Makes `internal` a view of rows [row, row + window) of `external`; does nothing if it is that
// already. Throws if there are no such rows.
void LinkRows(const Tensor& external, int64_t row, int64_t window, Tensor* internal);

// Workspaces of the steps of one recurrent network. Not synchronised.
struct ScratchWorkspaces {
  // Empties itself if it was filled for another definition; has `count` steps at least afterwards.
  void Prepare(const std::string& definition, const Workspace* outer, size_t count);

  std::string definition;
  std::shared_ptr<Workspace> shared;
  std::vector<std::shared_ptr<Workspace>> steps;
};
CAFFE2_TYPE_NAME(ScratchWorkspaces, "caffe2::detail::ScratchWorkspaces");

// One net for each step workspace, made when it is first needed.
class StepNets {
 public:
  // `net` begins with the operators that apply `links`. Of the blobs it makes, those in
  // `shared_blobs` go to the shared workspace and others to that of the step, unless that has them.
  StepNets(NetDef net, std::vector<RecurrentLink> links, std::string timestep,
           std::vector<std::string> shared_blobs);

  // Runs step t in step workspace `slot`. Operators of the net that draw random numbers take them
  // from `random_position` on. Where waits are deferred (device_waits.h) its work on devices goes
  // on afterwards: kernels have been passed the number of the step and the addresses of linked rows
  // by value, and storage that a later step replaces goes back in the order of the stream. False if
  // an operator returned false. Throws what operators throw, with the step added, and if an
  // operator gave a linked blob another size than the link has.
  bool Run(int64_t t, const ScratchWorkspaces& scratch, size_t slot, uint64_t random_position);

 private:
  struct Step {
    std::shared_ptr<Workspace> shared, workspace;
    std::unique_ptr<NetBase> net;
    Tensor* timestep = nullptr;
    std::vector<const Blob*> internal, external;  // of each link
  };

  void Make(const ScratchWorkspaces& scratch, size_t slot, Step* step) const;
  void CheckLinks(int64_t t, const Step& step) const;

  std::shared_ptr<const NetDef> net_;
  std::vector<RecurrentLink> links_;
  std::string timestep_;
  std::vector<std::string> made_, shared_blobs_;
  std::vector<Step> steps_;
};

// The blobs that the net writes before it reads them.
std::vector<std::string> BlobsMadeBy(const NetDef& net);

// Arithmetic of the gradients, by device.
template <class Context>
void SetZero(Tensor* x, Context* context);
// y += x, n elements.
template <class Context>
void AddTo(int64_t n, const float* x, float* y, Context* context);

}  // namespace caffe2
