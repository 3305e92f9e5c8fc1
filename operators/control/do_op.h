// Do: a net with a scope of its own.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "caffe2/core/net.h"
#include "caffe2/core/operator.h"
#include "caffe2/core/workspace.h"

namespace caffe2 {

// The workspaces of the runs of a Do operator whose gradients have not run yet. A blob holds the
// stack; the operator CreateScope empties it. Not thread-safe.
class WorkspaceStack {
 public:
  using Bindings = std::unordered_map<std::string, std::string>;  // inner name -> outer name

  bool empty() const { return stack_.empty(); }
  void Clear() { stack_.clear(); }
  // A new workspace that sees the bound blobs of `parent`.
  std::shared_ptr<Workspace> Push(const Workspace* parent, const Bindings& bindings);
  // Like Pop, but leaves the workspace on the stack. Pushes a new one if there is none.
  std::shared_ptr<Workspace> Reuse(const Workspace* parent, const Bindings& bindings);
  // Removes the last workspace from the stack, binds more names in it and returns it. The
  // workspace's own blobs keep their names. Throws EnforceNotMet if the stack is empty.
  std::shared_ptr<Workspace> Pop(const Workspace* parent, const Bindings& bindings);

 private:
  static void Bind(const Workspace* parent, Bindings bindings, Workspace* inner);

  std::vector<std::shared_ptr<Workspace>> stack_;
};
CAFFE2_TYPE_NAME(WorkspaceStack, "caffe2::detail::WorkspaceStack");

// Runs the net in the argument `net` in a workspace of its own. The last input and the last output
// are the blob of the WorkspaceStack.
class DoOp final : public Operator<CPUContext> {
 public:
  DoOp(const OperatorDef& def, Workspace* ws);
  bool RunOnDevice() override;

  // Each run may create the net again. Its random numbers continue where the last run ended.
  std::vector<uint64_t> NestedRandomState() const override { return random_state_; }
  void SetNestedRandomState(const std::vector<uint64_t>& state) override { random_state_ = state; }

 private:
  void CopyForwardedTensors(Workspace* inner) const;

  Workspace* parent_;
  NetDef net_def_;
  WorkspaceStack::Bindings bindings_;
  bool is_gradient_, copy_external_blobs_, reuse_workspace_;
  std::vector<uint64_t> random_state_;
};

}  // namespace caffe2
