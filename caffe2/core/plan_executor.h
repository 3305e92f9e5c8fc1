// Runs plans. A plan creates its nets once and then runs a tree of execution steps.
#pragma once

#include "caffe2/core/net.h"

namespace caffe2 {

// Creates the plan's nets in the order of its steps, then runs the steps.
//
// Nets are created in `ws` and replace nets of the same name. If only steps with create_workspace
// run a net, it is created in the workspaces of these steps instead, so that its blobs are not
// shared.
//
// Steps follow Caffe2: num_iter, criteria_network, substeps in sequence or concurrently,
// should_stop_blob (a bool scalar), only_once, report_net every report_interval seconds,
// run_every_ms, create_workspace, num_concurrent_instances.
//
// A report_net runs on a thread of its own while its step runs, and once more after the step has
// succeeded. A substep with run_every_ms does the same in each iteration of the step around it.
// Only the result of the last run counts. An exception ends the runs of its thread and is rethrown
// at the end of the step or iteration.
//
// Returns false if a net or should_continue returned false, or if a stop was requested before an
// iteration. The first failure of a concurrent substep stops the other substeps; if it is an
// exception, it is rethrown.
bool RunPlanOnWorkspace(Workspace* ws, const PlanDef& plan, const ShouldContinue& should_continue);

}  // namespace caffe2
