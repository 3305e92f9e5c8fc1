// torchrun, scripts that set PyTorch's variables themselves (env://), and `doppio run`, which sets
// the same variables and names the store.
#include "distributed/launch_dialects.h"

namespace caffe2 {

namespace {

// torchrun's run id if none was given.
constexpr char kUnnamed[] = "none";
constexpr char kStore[] = "DOPPIO_STORE";  // a StoreUrl, from `doppio run`

}  // namespace

DialectReading ReadTorchrun(const LaunchVariables& variables) {
  if (!variables.HasAny({"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR",
                         "MASTER_PORT", "TORCHELASTIC_RUN_ID", kStore})) {
    return {};
  }
  if (const std::string missing = variables.Missing({"RANK", "WORLD_SIZE"}); !missing.empty()) {
    return Incomplete("torchrun: " + missing);
  }
  Launch launch;
  launch.dialect = "torchrun";
  variables.ReadRank("RANK", "WORLD_SIZE", &launch);
  variables.ReadLocalRank("LOCAL_RANK", "LOCAL_WORLD_SIZE", &launch);
  launch.restart_count = variables.Number("TORCHELASTIC_RESTART_COUNT").value_or(0);
  variables.ReadMaster("", kDefaultMasterPort, &launch);
  if (const auto store = variables.Text(kStore)) {
    launch.dialect = "doppio run";
    launch.store = ParseStoreUrl(*store, kStore);
  }
  const std::string run_id = variables.Text("TORCHELASTIC_RUN_ID").value_or(kUnnamed);
  if (run_id != kUnnamed) {
    launch.run_id = RunIdOf(run_id);
  } else if (!launch.store.empty()) {
    launch.run_id =
        RunIdOf("torchrun_" + launch.store.host + "_" + std::to_string(launch.store.port));
  }
  // torchrun itself listens on MASTER_PORT.
  const bool port_is_taken =
      !variables.Has(kStore) &&
      variables.Text("TORCHELASTIC_USE_AGENT_STORE").value_or("False") == "True";
  if (port_is_taken && !launch.store.empty()) launch.store = StoreOnNextPort(launch.store);
  return Found(launch);
}

}  // namespace caffe2
