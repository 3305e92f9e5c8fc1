// mpirun of Open MPI, and launchers that use PMI: Hydra of MPICH and of Intel MPI.
#include "caffe2/utils/crc32.h"
#include "distributed/launch_dialects.h"

namespace caffe2 {

namespace {

// The address of mpirun's host in Open MPI's "12.0;tcp://10.0.0.5,172.17.0.2:40123", or "".
std::string HostOfUri(const std::string& uri) {
  constexpr char kTcp[] = "tcp://";
  const size_t begin = uri.find(kTcp);
  if (begin == std::string::npos) return "";
  const size_t first = begin + sizeof kTcp - 1;
  return uri.substr(first, uri.find_first_of(",:", first) - first);
}

}  // namespace

DialectReading ReadOpenMpi(const LaunchVariables& variables) {
  const std::string kRank = "OMPI_COMM_WORLD_RANK", kSize = "OMPI_COMM_WORLD_SIZE";
  if (!variables.HasAny({kRank, kSize})) return {};
  if (const std::string missing = variables.Missing({kRank, kSize}); !missing.empty()) {
    return Incomplete("Open MPI: " + missing);
  }
  Launch launch;
  launch.dialect = "mpirun";
  variables.ReadRank(kRank, kSize, &launch);
  variables.ReadLocalRank("OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", &launch);
  const auto job = variables.Text("OMPI_MCA_ess_base_jobid");
  const auto space = variables.Text("PMIX_NAMESPACE");
  if (job || space) launch.run_id = RunIdOf("mpi_" + (job ? *job : *space));
  // On one host the shards share a directory and need no other store.
  const bool several_hosts = launch.local_size > 0 && launch.local_size < launch.size;
  const std::string host =
      several_hosts ? HostOfUri(variables.Text("OMPI_MCA_orte_hnp_uri").value_or("")) : "";
  variables.ReadMaster(host, StorePortOf(Crc32(launch.run_id.data(), launch.run_id.size())),
                       &launch);
  return Found(launch);
}

DialectReading ReadPmi(const LaunchVariables& variables) {
  if (!variables.HasAny({"PMI_RANK", "PMI_SIZE", "PMIX_RANK"})) return {};
  // srun --mpi=pmi2 sets them in addition to its own variables, which tell more.
  const auto rank = variables.Number("PMI_RANK"), size = variables.Number("PMI_SIZE");
  if (variables.Has("SLURM_STEP_ID") && rank == variables.Number("SLURM_PROCID") &&
      size == variables.FirstNumber({"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"})) {
    return {};
  }
  if (!rank || !size) {
    return Incomplete("PMI: " + variables.Missing({"PMI_RANK", "PMI_SIZE"}));
  }
  Launch launch;
  launch.dialect = "mpirun";
  variables.ReadRank("PMI_RANK", "PMI_SIZE", &launch);
  variables.ReadLocalRank("MPI_LOCALRANKID", "MPI_LOCALNRANKS", &launch);
  variables.ReadMaster("", kDefaultMasterPort, &launch);
  return Found(launch);
}

}  // namespace caffe2
