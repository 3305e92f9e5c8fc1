// Runs plans: nets created once, then a tree of execution steps.
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
// A report_net, and each substep with run_every_ms, runs on a thread of its own, and once more
// after the step has succeeded. Only the last result counts. An exception ends these runs and is
// rethrown at the end of the step.
//
// False if a net or should_continue returned false, or if an iteration found that a stop was
// requested. An exception of a concurrent substep stops the other substeps and is rethrown.
bool RunPlanOnWorkspace(Workspace* ws, const PlanDef& plan, const ShouldContinue& should_continue);

}  // namespace caffe2
