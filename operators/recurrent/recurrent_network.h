// Shared by RecurrentNetwork and its gradient: a step net that runs once for each step of a
// sequence.
//
// Every step has a workspace of its own. Its parent is a workspace that all steps share, whose
// parent is the workspace of the outer net:
//
//   outer      sequence [T, N, ...], parameters, states [T + 1, N, D] and their gradients
//     shared   blobs of the backward step net, and activations that it computes again
//       step t the number t, the activations of step t
//
// A step net sees blobs of one step only. Links connect them to the long tensors outside: operators
// before the step net make an inner blob a view of row t + offset of an outer blob, so that the net
// reads its input and writes its states in place. Row 0 of a state is its initial value, row t + 1
// is the result of step t, and the outputs of RecurrentNetwork are views of states.
//
// The backward step net runs in the same workspaces, the last step first, and finds the activations
// there. Gradients of states are linked like the states: step t writes row t, then the gradient
// from outside is added to it, and step t - 1 reads it. Gradients of parameters are summed over the
// steps.
//
// The last output is a blob that holds the workspaces, for the gradient operator. Each operator
// keeps a net for each step. So a run on a sequence that is not longer than the earlier ones
// creates no workspace, net or blob.
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

// The links in the arguments "<prefix>link_internal", "_external", "_offset" and "_window" (default
// 1). Throws EnforceNotMet if the lists differ in length or a window is not positive.
std::vector<RecurrentLink> ReadLinks(const OperatorDef& def, const std::string& prefix);

// The net in an argument: a net or, from old builders, its text. Throws EnforceNotMet if the
// argument is missing or cannot be read.
NetDef ReadStepNet(const OperatorDef& def, const std::string& argument);
// True if the operator has a backward step net, which needs the activations.
bool HasBackwardStepNet(const OperatorDef& def);

// Inserts operators before the operators of the net.
void PrependOperators(const std::vector<OperatorDef>& ops, NetDef* net);
// Inserts the operators that apply the links at the start of the net.
void PrependLinks(const std::vector<RecurrentLink>& links, const std::string& timestep,
                  const DeviceOption& device, NetDef* net);

// Makes `internal` a view of rows [row, row + window) of `external`, unless it is one already.
// Throws EnforceNotMet if there are no such rows.
void LinkRows(const Tensor& external, int64_t row, int64_t window, Tensor* internal);

// Workspaces of the steps of one recurrent network. Not thread-safe.
struct ScratchWorkspaces {
  // Ensures that there are at least `count` step workspaces. Replaces all workspaces if they were
  // made for another definition.
  void Prepare(const std::string& definition, const Workspace* outer, size_t count);

  std::string definition;
  std::shared_ptr<Workspace> shared;
  std::vector<std::shared_ptr<Workspace>> steps;
};
CAFFE2_TYPE_NAME(ScratchWorkspaces, "caffe2::detail::ScratchWorkspaces");

// One net for each step workspace, created when it is first needed.
class StepNets {
 public:
  // `net` begins with the operators that apply `links`. Its blobs in `shared_blobs` are created in
  // the shared workspace, the others in the workspace of the step, unless they exist there.
  StepNets(NetDef net, std::vector<RecurrentLink> links, std::string timestep,
           std::vector<std::string> shared_blobs);

  // Runs step t in step workspace `slot`. Operators that draw random numbers take them from
  // `random_position` on. If waits are deferred (device_waits.h), work on devices goes on after the
  // return. That is safe: kernels have the number of the step and the addresses of linked rows by
  // value, and storage that a later step replaces is freed in the order of the stream. Returns
  // false if an operator returned false. Throws the errors of operators, with the step added, and
  // EnforceNotMet if an operator changed the size of a linked blob.
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
