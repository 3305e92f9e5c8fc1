// MXNet's launch.py (ps-lite): DMLC_*.
//
// Workers train and exchange gradients with each other; the result is the same as with `dist_sync`.
// launch.py starts the scheduler on its own host; the scheduler keeps the store at
// DMLC_PS_ROOT_URI. Servers have nothing to do, unless --param_servers says how many keep the
// parameters, as with `dist_async`.
#include "caffe2/core/usage_error.h"
#include "distributed/launch_dialects.h"
#include "distributed/run_record.h"

namespace caffe2 {

namespace {

constexpr char kRoot[] = "DMLC_PS_ROOT_URI and DMLC_PS_ROOT_PORT";

// The number of parameter servers; 0 if servers have nothing to do.
int ServersOf(const LaunchVariables& variables) {
  const int servers = variables.param_servers().value_or(0);
  if (servers == 0) return 0;
  const auto started = variables.Number("DMLC_NUM_SERVER");
  if (started.value_or(0) != servers) {
    ThrowUsage("--param_servers is ", servers, ", but ",
               started ? variables.Shown("DMLC_NUM_SERVER") : "DMLC_NUM_SERVER is not set",
               ": give both the same number (launch.py -s)");
  }
  return servers;
}

Launch::Role RoleOf(const LaunchVariables& variables, int servers) {
  const std::string role = *variables.Text("DMLC_ROLE");
  if (role == "worker") return Launch::Role::kWorker;
  if (role == "scheduler") return Launch::Role::kStoreKeeper;
  if (role == "server") return servers > 0 ? Launch::Role::kServer : Launch::Role::kIdle;
  ThrowUsage(variables.Shown("DMLC_ROLE"), " must be worker, server or scheduler");
}

// launch.py numbers the workers that it starts on one host; mpirun and srun number their workers;
// the store numbers workers that are started through ssh.
int RankOf(const LaunchVariables& variables, int size) {
  if (size == 1) return 0;
  for (const char* name :
       {"DMLC_WORKER_ID", "DMLC_TASK_ID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    const auto rank = variables.Number(name);
    if (!rank) continue;
    if (*rank >= size) {
      ThrowUsage(variables.Shown(name), " must be smaller than ",
                 variables.Shown("DMLC_NUM_WORKER"));
    }
    return *rank;
  }
  return Launch::kRankByArrival;
}

}  // namespace

DialectReading ReadMxnet(const LaunchVariables& variables) {
  if (!variables.HasAny({"DMLC_ROLE", "DMLC_NUM_WORKER", "DMLC_NUM_SERVER", "DMLC_WORKER_ID",
                         "DMLC_PS_ROOT_URI", "DMLC_PS_ROOT_PORT", "DMLC_TRACKER_URI"})) {
    return {};
  }
  if (const std::string missing = variables.Missing({"DMLC_ROLE", "DMLC_NUM_WORKER"});
      !missing.empty()) {
    return Incomplete("MXNet: " + missing);
  }
  Launch launch;
  launch.dialect = "MXNet";
  launch.num_servers = ServersOf(variables);
  launch.role = RoleOf(variables, launch.num_servers);
  const int workers = *variables.Number("DMLC_NUM_WORKER");
  if (workers < 1) ThrowUsage(variables.Shown("DMLC_NUM_WORKER"), " must be at least 1");
  launch.size = workers + launch.num_servers;
  if (launch.role == Launch::Role::kWorker) launch.rank = RankOf(variables, workers);
  // launch.py does not number servers; one needs no number.
  if (launch.role == Launch::Role::kServer) {
    launch.rank = launch.num_servers == 1 ? workers : Launch::kRankByArrival;
  }
  const auto host = variables.Text("DMLC_PS_ROOT_URI"), port = variables.Text("DMLC_PS_ROOT_PORT");
  if (!host || !port) {
    launch.store_hint = kRoot;
    return Found(launch);
  }
  const HostPort root = ReadHostPort(kRoot, *host, *port);
  launch.run_id = RunIdOf("mxnet_" + root.host + "_" + std::to_string(root.port));
  launch.store = StoreAt(root);
  launch.scheduler_keeps_store = true;
  return Found(launch);
}

}  // namespace caffe2
