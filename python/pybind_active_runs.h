// The runs that Python has started and that have not ended, and what must not be done meanwhile.
//
// The caller holds the GIL, under which runs begin: what is found idle stays so until the GIL is
// released. Runs may end at any time. A forked process has none of the runs of its parent.
//
// A run uses the inputs and outputs of its operators, and the blobs that the nets in their
// arguments name (If, While, recurrent networks; a Do lists the blobs of its net itself). While two
// runs of different threads use a blob that one of them writes, its tensor is pinned (Tensor::Pin):
// a run that would then change its shape, type or memory fails. Tensors that are made meanwhile,
// and those that queues exchange, are not pinned.
#pragma once

#include <chrono>
#include <string>

#include "caffe2/core/workspace.h"

namespace caffe2::python {

// A run in `ws`, by this thread, as long as it lives: of a net, of an operator, of a plan, or of
// none (the making of a net). The net, operator or plan must outlive it.
class ActiveRun {
 public:
  explicit ActiveRun(Workspace* ws);
  // Throws EnforceNotMet if the net runs already: one thread runs a net at a time.
  ActiveRun(Workspace* ws, const NetBase& net);
  ActiveRun(Workspace* ws, const OperatorBase& op);
  // Throws EnforceNotMet if a net of the plan, which the plan would make anew, runs or belongs to a
  // plan that runs.
  ActiveRun(Workspace* ws, const PlanDef& plan);
  // Clears the stop request of StopRuns if this is the last run in the workspace.
  ~ActiveRun();
  ActiveRun(const ActiveRun&) = delete;
  ActiveRun& operator=(const ActiveRun&) = delete;

 private:
  Workspace* ws_;
  uint64_t id_;
};

// Says, as long as it lives, that this thread calls a Python function for `op`. The thread may be a
// thread of a net that another thread runs.
class InsideOperator {
 public:
  explicit InsideOperator(const OperatorBase* op);
  ~InsideOperator();
  InsideOperator(const InsideOperator&) = delete;
  InsideOperator& operator=(const InsideOperator&) = delete;

 private:
  const OperatorBase *outer_, *outermost_;
};

// Stops the runs in the workspace itself, if there are any.
void StopRuns(Workspace* ws);
bool AnyRunIsActive();

// The next four throw EnforceNotMet; `action` begins the text, such as "cannot delete net train".
// Null is idle.
void EnforceNetIsIdle(const NetBase* net, const std::string& action);
// Throw if a net, operator or plan that another thread runs uses the blob, or the tensor in one of
// its blobs. The operator from which this is called may use it, because it waits.
void EnforceBlobIsIdle(const Blob* blob, const std::string& action);
void EnforceTensorIsIdle(const Tensor& tensor, const std::string& action);
// Stops the runs in the workspace and its children, and waits for their ends with the GIL released.
// Throws if this thread is a part of a run, or if the runs go on after `patience`.
void EndRuns(Workspace* ws, std::chrono::milliseconds patience, const std::string& action);

}  // namespace caffe2::python
