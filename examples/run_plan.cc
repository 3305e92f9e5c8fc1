// Runs a PlanDef from a file.
#include <gflags/gflags.h>

#include "caffe2/core/logging.h"
#include "caffe2/core/usage_error.h"
#include "caffe2/core/workspace.h"
#include "caffe2/utils/net_io.h"
#include "caffe2/utils/program.h"

DEFINE_string(plan, "", "the PlanDef (required): binary, or text if the name ends in .pbtxt");

namespace caffe2 {
namespace {

int Main() {
  CheckUsage(!FLAGS_plan.empty(), "--plan is needed");
  const PlanDef plan = ReadPlanDef(FLAGS_plan);
  Workspace ws;
  CAFFE_ENFORCE(ws.RunPlan(plan), "plan ", plan.name(), " failed");
  return 0;
}

}  // namespace
}  // namespace caffe2

int main(int argc, char** argv) {
  return caffe2::RunProgram(&argc, &argv, "runs a plan (--plan FILE)", caffe2::Main);
}
