// Indexed Jobs of Kubernetes. A pod knows only its index; the manifest must set the size.
#include "caffe2/core/usage_error.h"
#include "distributed/launch_dialects.h"

namespace caffe2 {

namespace {

// The name of the Job. Its pods have the host names "<job>-<index>"; "" for other host names.
std::string JobName(const LaunchVariables& variables, const std::string& index) {
  const std::string host = variables.Text("HOSTNAME").value_or("");
  const std::string suffix = "-" + index;
  if (host.size() <= suffix.size()) return "";
  const size_t length = host.size() - suffix.size();
  return host.substr(length) == suffix ? host.substr(0, length) : "";
}

}  // namespace

DialectReading ReadKubernetes(const LaunchVariables& variables) {
  const auto index = variables.Text("JOB_COMPLETION_INDEX");
  if (!index) return {};
  const auto world_size = variables.Number("WORLD_SIZE");
  if (!world_size && variables.num_shards() == 0) {
    return Incomplete(
        "Kubernetes: WORLD_SIZE is not set: set it to the completions of the Job, or give "
        "--num_shards");
  }
  Launch launch;
  launch.dialect = "Kubernetes";
  launch.size = world_size.value_or(variables.num_shards());
  launch.rank = variables.Number("JOB_COMPLETION_INDEX").value();
  if (launch.rank >= launch.size) {
    ThrowUsage(variables.Shown("JOB_COMPLETION_INDEX"), " must be smaller than the ", launch.size,
               " processes that ", world_size ? "WORLD_SIZE" : "--num_shards", " says");
  }
  const std::string job = JobName(variables, *index);
  launch.run_id = RunIdOf(job);
  // Pod 0 has this name if the Job's headless service is named as the Job.
  variables.ReadMaster(job.empty() ? "" : job + "-0." + job, kDefaultMasterPort, &launch);
  return Found(launch);
}

}  // namespace caffe2
