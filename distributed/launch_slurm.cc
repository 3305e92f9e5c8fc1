// Tasks of srun.
#include <cstdlib>

#include "caffe2/core/usage_error.h"
#include "distributed/host_list.h"
#include "distributed/launch_dialects.h"

namespace caffe2 {

namespace {

// Step numbers from here on are not of srun: the batch script and the shell of salloc.
constexpr uint64_t kFirstSpecialStep = 0xfffffff0;
constexpr size_t kMaxHostDigits = 18;

// The number in the first of the variables that is set. Ids can be larger than ranks.
std::optional<uint64_t> ReadId(const LaunchVariables& variables,
                               const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto text = variables.Text(name);
    if (!text) continue;
    if (text->size() > kMaxHostDigits ||
        text->find_first_not_of("0123456789") != std::string::npos) {
      ThrowUsage(variables.Shown(name), " must be a number");
    }
    return std::strtoull(text->c_str(), nullptr, 10);
  }
  return std::nullopt;
}

// The number of tasks on node `node` in a list like "2(x3),1" (2, 2, 2 and 1); 0 if it has no such
// node.
int TasksOnNode(const std::string& text, int node) {
  const char* rest = text.c_str();
  while (*rest != '\0') {
    char* end = nullptr;
    const int64_t tasks = std::strtoll(rest, &end, 10);
    int64_t nodes = 1;
    if (end == rest || tasks < 1 || tasks > LaunchVariables::kMaxShards) return 0;
    if (end[0] == '(' && end[1] == 'x') {
      nodes = std::strtoll(end + 2, &end, 10);
      if (nodes < 1 || *end++ != ')') return 0;
    }
    if (node < nodes) return static_cast<int>(tasks);
    node -= static_cast<int>(nodes);
    if (*end != ',') return 0;
    rest = end + 1;
  }
  return 0;
}

void ReadLocal(const LaunchVariables& variables, Launch* launch) {
  variables.ReadLocalRank("SLURM_LOCALID", "SLURM_NTASKS_PER_NODE", launch);
  const auto tasks = variables.Text("SLURM_STEP_TASKS_PER_NODE");
  const auto node = variables.Number("SLURM_NODEID");
  if (!tasks || !node) return;
  const int here = TasksOnNode(*tasks, *node);
  if (here == 0) {
    ThrowUsage(variables.Shown("SLURM_STEP_TASKS_PER_NODE"), " does not tell of ",
               variables.Shown("SLURM_NODEID"));
  }
  launch->local_size = here;
  if (launch->local_rank >= here) {
    ThrowUsage(variables.Shown("SLURM_LOCALID"), " must be smaller than the ", here,
               " tasks of this node in ", variables.Shown("SLURM_STEP_TASKS_PER_NODE"));
  }
}

// True if srun did not start this process: it is the batch script or the shell of salloc.
bool IsOutsideOfSrun(const std::optional<uint64_t>& job, const std::optional<uint64_t>& step) {
  return job && (!step || *step >= kFirstSpecialStep);
}

}  // namespace

DialectReading ReadSlurm(const LaunchVariables& variables) {
  const auto job = ReadId(variables, {"SLURM_JOB_ID", "SLURM_JOBID"});
  const auto step = ReadId(variables, {"SLURM_STEP_ID", "SLURM_STEPID"});
  const auto job_tasks = variables.Number("SLURM_NTASKS");
  if (!job && !step && !variables.HasAny({"SLURM_PROCID", "SLURM_NTASKS"})) return {};
  if (IsOutsideOfSrun(job, step)) {
    if (job_tasks.value_or(1) <= 1) return {};
    return Incomplete(MakeString("Slurm: job ", *job, " has ", variables.Shown("SLURM_NTASKS"),
                                 ", but this process was not started by srun: write srun before "
                                 "the command"));
  }
  const std::string size =
      variables.Has("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
  if (const std::string missing = variables.Missing({"SLURM_PROCID", size}); !missing.empty()) {
    return Incomplete("Slurm: " + missing);
  }
  Launch launch;
  launch.dialect = "Slurm";
  variables.ReadRank("SLURM_PROCID", size, &launch);
  if (job_tasks && *job_tasks != launch.size) {
    ThrowUsage(variables.Shown("SLURM_NTASKS"), " and ", variables.Shown(size),
               " contradict each other: start the tasks with srun");
  }
  ReadLocal(variables, &launch);
  launch.restart_count = variables.Number("SLURM_RESTART_COUNT").value_or(0);
  if (job) launch.run_id = MakeString(*job, ".", step.value_or(0));
  const std::string nodes =
      variables.Has("SLURM_STEP_NODELIST") ? "SLURM_STEP_NODELIST" : "SLURM_JOB_NODELIST";
  const auto list = variables.Text(nodes);
  variables.ReadMaster(list ? ExpandHostList(nodes, *list).at(0) : "",
                       StorePortOf(job.value_or(0) + step.value_or(0)), &launch);
  if (launch.store.empty()) launch.store_hint = nodes;
  return Found(launch);
}

}  // namespace caffe2
