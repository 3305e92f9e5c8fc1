// Runs plans: nets created once, then a tree of execution steps.
#pragma once

#include "caffe2/core/net.h"

namespace caffe2 {

// Creates the plan's nets in the order of its steps and runs these. Nets go to `ws`, replacing nets
// of the same name; those that only steps with create_workspace run go to the workspaces of these,
// so that the blobs they make are not shared. Steps follow Caffe2: num_iter, criteria_network,
// substeps in sequence or concurrently, should_stop_blob (a bool scalar), only_once, report_net
// every report_interval seconds, run_every_ms, create_workspace, num_concurrent_instances. False if
// a net returned false or should_continue did. Exceptions of concurrent substeps end their siblings
// and are rethrown.
bool RunPlanOnWorkspace(Workspace* ws, const PlanDef& plan, const ShouldContinue& should_continue);

}  // namespace caffe2
