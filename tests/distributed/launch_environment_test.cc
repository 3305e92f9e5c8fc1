#include "distributed/launch_environment.h"

#include <gtest/gtest.h>

#include <optional>

#include "caffe2/core/usage_error.h"
#include "tests/distributed/test_util.h"

namespace caffe2::testing {
namespace {

// What launchers set, as seen on a machine with each of them; a test changes single variables.
const Environment kTorchrun = {{"RANK", "1"},
                               {"WORLD_SIZE", "4"},
                               {"LOCAL_RANK", "1"},
                               {"LOCAL_WORLD_SIZE", "2"},
                               {"MASTER_ADDR", "10.0.0.5"},
                               {"MASTER_PORT", "29500"},
                               {"TORCHELASTIC_RUN_ID", "job7"},
                               {"TORCHELASTIC_RESTART_COUNT", "0"},
                               {"TORCHELASTIC_USE_AGENT_STORE", "True"}};
const Environment kSlurm = {{"SLURM_JOB_ID", "4711"},
                            {"SLURM_STEP_ID", "2"},
                            {"SLURM_PROCID", "3"},
                            {"SLURM_NTASKS", "5"},
                            {"SLURM_STEP_NUM_TASKS", "5"},
                            {"SLURM_LOCALID", "0"},
                            {"SLURM_NODEID", "1"},
                            {"SLURM_STEP_TASKS_PER_NODE", "3,2"},
                            {"SLURM_STEP_NODELIST", "n[07-08]"},
                            {"SLURM_JOB_NODELIST", "n[01-09]"}};
const Environment kOpenMpi = {
    {"OMPI_COMM_WORLD_RANK", "3"},
    {"OMPI_COMM_WORLD_SIZE", "4"},
    {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
    {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
    {"OMPI_MCA_ess_base_jobid", "3423535105"},
    {"OMPI_MCA_orte_hnp_uri", "3423535104.0;tcp://10.0.0.5,172.17.0.2:40123"}};
const Environment kHydra = {
    {"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}};
const Environment kHorovod = {{"HOROVOD_RANK", "2"},
                              {"HOROVOD_SIZE", "4"},
                              {"HOROVOD_LOCAL_RANK", "0"},
                              {"HOROVOD_LOCAL_SIZE", "2"},
                              {"HOROVOD_GLOO_RENDEZVOUS_ADDR", "10.0.0.5"},
                              {"HOROVOD_GLOO_RENDEZVOUS_PORT", "35000"}};
const Environment kMxnet = {{"DMLC_ROLE", "worker"},
                            {"DMLC_NUM_WORKER", "3"},
                            {"DMLC_NUM_SERVER", "1"},
                            {"DMLC_PS_ROOT_URI", "10.0.0.5"},
                            {"DMLC_PS_ROOT_PORT", "9091"}};
const Environment kKubernetes = {
    {"JOB_COMPLETION_INDEX", "2"}, {"WORLD_SIZE", "4"}, {"HOSTNAME", "lenet-2"}};

Environment TfConfig(
    const std::string& task, const std::string& index,
    const std::string& cluster = R"({"worker": ["10.163.6.155:9761", "10.163.24.200:9761"]})") {
  return {{"TF_CONFIG", R"({"cluster": )" + cluster + R"(, "task": {"type": ")" + task +
                            R"(", "index": )" + index + "}}"}};
}

// With a variable set, or with nullopt unset.
Environment With(Environment environment, const std::string& name,
                 const std::optional<std::string>& value) {
  environment.erase(name);
  if (value) environment[name] = *value;
  return environment;
}

Environment Both(Environment first, const Environment& second) {
  first.insert(second.begin(), second.end());
  return first;
}

std::string Described(const Environment& environment) {
  const auto launch = ReadLaunchEnvironment(environment);
  return launch ? launch->Describe() : "alone";
}

TEST(LaunchEnvironmentTest, EachDialectIsUnderstood) {
  const std::vector<std::pair<Environment, std::string>> cases = {
      {{}, "alone"},
      {{{"PATH", "/bin"}, {"HOSTNAME", "n1"}, {"SLURM_CONF", "/etc/slurm.conf"}}, "alone"},
      {kTorchrun,
       "torchrun: shard 1 of 4, local 1 of 2, store tcp://10.0.0.5:29501-29516, run_id job7"},
      {With(kTorchrun, "TORCHELASTIC_RESTART_COUNT", "2"),
       "torchrun: shard 1 of 4, local 1 of 2, store tcp://10.0.0.5:29501-29516, run_id job7, "
       "restart 2"},
      {With(kTorchrun, "TORCHELASTIC_RUN_ID", "none"),
       "torchrun: shard 1 of 4, local 1 of 2, store tcp://10.0.0.5:29501-29516, run_id "
       "torchrun_10.0.0.5_29500"},
      {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "::1"}, {"MASTER_PORT", "65530"}},
       "torchrun: shard 0 of 2, store tcp://[::1]:65530-65535, run_id torchrun_--1_65530"},
      {{{"RANK", "0"}, {"WORLD_SIZE", "1"}}, "torchrun: shard 0 of 1"},
      {With(kTorchrun, "DOPPIO_STORE", "redis://127.0.0.1:10240"),
       "doppio run: shard 1 of 4, local 1 of 2, store redis://127.0.0.1:10240, run_id job7"},
      {kSlurm, "Slurm: shard 3 of 5, local 0 of 2, store tcp://n07:20112-20127, run_id 4711.2"},
      {{{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}}, "Slurm: shard 1 of 2"},
      {Both(kSlurm, {{"MASTER_ADDR", "ib07"}, {"MASTER_PORT", "1234"}}),
       "Slurm: shard 3 of 5, local 0 of 2, store tcp://ib07:1234-1249, run_id 4711.2"},
      {kOpenMpi,
       "mpirun: shard 3 of 4, local 1 of 2, store tcp://10.0.0.5:25792-25807, run_id "
       "mpi_3423535105"},
      {With(kOpenMpi, "OMPI_COMM_WORLD_LOCAL_SIZE", "4"),
       "mpirun: shard 3 of 4, local 1 of 4, run_id mpi_3423535105"},
      {kHydra, "mpirun: shard 1 of 2, local 1 of 2"},
      {kHorovod,
       "Horovod: shard 2 of 4, local 0 of 2, store tcp://10.0.0.5:35001-35016, run_id "
       "horovod_10.0.0.5_35000"},
      {TfConfig("worker", "1"),
       "TF_CONFIG: shard 1 of 2, local 0 of 1, store tcp://10.163.6.155:9761-9776, run_id "
       "tf_3275751691"},
      {TfConfig("worker", "\"1\"", R"({"chief": ["a:1"], "worker": ["b:1", "a:2", "b:2"]})"),
       "TF_CONFIG: shard 2 of 4, local 1 of 2, store tcp://a:1-16, run_id tf_2820478965"},
      {TfConfig("master", "0", R"({"master": ["a:1"], "worker": ["b:1"]})"),
       "TF_CONFIG: shard 0 of 2, local 0 of 1, store tcp://a:1-16, run_id tf_1047987944"},
      {With(kMxnet, "DMLC_WORKER_ID", "2"),
       "MXNet: shard 2 of 3, store tcp://10.0.0.5:9091-9106, run_id mxnet_10.0.0.5_9091"},
      {With(kMxnet, "DMLC_TASK_ID", "1"),
       "MXNet: shard 1 of 3, store tcp://10.0.0.5:9091-9106, run_id mxnet_10.0.0.5_9091"},
      {kMxnet,
       "MXNet: one of 3 shards, numbered by the store, store tcp://10.0.0.5:9091-9106, run_id "
       "mxnet_10.0.0.5_9091"},
      {With(kMxnet, "DMLC_ROLE", "scheduler"),
       "MXNet: scheduler of 3 workers, store tcp://10.0.0.5:9091-9106, run_id "
       "mxnet_10.0.0.5_9091"},
      {kKubernetes,
       "Kubernetes: shard 2 of 4, store tcp://lenet-0.lenet:29500-29515, run_id lenet"},
      {With(kKubernetes, "MASTER_ADDR", "lenet-0.pods"),
       "Kubernetes: shard 2 of 4, store tcp://lenet-0.pods:29500-29515, run_id lenet"},
  };
  for (const auto& [environment, expected] : cases) EXPECT_EQ(Described(environment), expected);
}

TEST(LaunchEnvironmentTest, InnerLaunchersCount) {
  const auto dialect = [](const Environment& outer, const Environment& inner) {
    return ReadLaunchEnvironment(Both(inner, outer))->dialect;
  };
  EXPECT_EQ(dialect(kSlurm, kTorchrun), "torchrun");
  EXPECT_EQ(dialect(kSlurm, kOpenMpi), "mpirun");
  EXPECT_EQ(dialect(kSlurm, kHydra), "mpirun");
  EXPECT_EQ(dialect(kSlurm, kHorovod), "Horovod");
  EXPECT_EQ(dialect(kSlurm, TfConfig("worker", "0")), "TF_CONFIG");
  EXPECT_EQ(dialect(With(kOpenMpi, "OMPI_COMM_WORLD_RANK", "2"), kMxnet), "MXNet");
  EXPECT_EQ(dialect(With(kKubernetes, "WORLD_SIZE", std::nullopt), kTorchrun), "torchrun");
  // srun --mpi=pmi2 is srun.
  EXPECT_EQ(dialect(kSlurm, {{"PMI_RANK", "3"}, {"PMI_SIZE", "5"}}), "Slurm");
  EXPECT_EQ(dialect(kSlurm, {{"PMIX_RANK", "3"}}), "Slurm");
  // A launcher that numbers the workers of launch.py.
  EXPECT_EQ(ReadLaunchEnvironment(Both(kMxnet, {{"OMPI_COMM_WORLD_RANK", "1"}}))->rank, 1);
}

TEST(LaunchEnvironmentTest, RolesWithoutTraining) {
  EXPECT_EQ(ReadLaunchEnvironment(With(kMxnet, "DMLC_ROLE", "scheduler"))->role,
            Launch::Role::kStoreKeeper);
  EXPECT_EQ(ReadLaunchEnvironment(With(kMxnet, "DMLC_ROLE", "server"))->role, Launch::Role::kIdle);
}

// One variable of a good set is wrong: the error names it, with its value, and what is right.
TEST(LaunchEnvironmentTest, WrongValuesAreErrorsThatNameTheVariable) {
  struct Case {
    Environment environment;
    std::string variable, value, expected;
  };
  const std::vector<Case> cases = {
      {kTorchrun, "RANK", "-1", "must be a number"},
      {kTorchrun, "RANK", "one", "must be a number"},
      {kTorchrun, "RANK", "", "is set but empty"},
      {kTorchrun, "RANK", "4", "must be smaller than WORLD_SIZE=\"4\""},
      {kTorchrun, "RANK", "99999999999999999999", "must be a number"},
      {kTorchrun, "RANK", " 1", "must be a number"},
      {kTorchrun, "RANK", "0x1", "must be a number"},
      {kTorchrun, "RANK", "1\x1b[31m", "RANK=\"1 [31m\""},
      {kTorchrun, "WORLD_SIZE", "0", "must be at least 1"},
      {kTorchrun, "WORLD_SIZE", "1000000", "must be a number from 0 to 65536"},
      {kTorchrun, "LOCAL_RANK", "2", "must be smaller than LOCAL_WORLD_SIZE=\"2\""},
      {kTorchrun, "LOCAL_WORLD_SIZE", "5", "is more than the 4 processes"},
      {kTorchrun, "MASTER_PORT", "0", "from 1 to 65535"},
      {kTorchrun, "MASTER_PORT", "66000", "from 1 to 65535"},
      {kTorchrun, "MASTER_PORT", "", "is set but empty"},
      {kTorchrun, "MASTER_ADDR", "", "is set but empty"},
      {kTorchrun, "MASTER_ADDR", "a b", "not the name or the address"},
      {kSlurm, "SLURM_PROCID", "5", "must be smaller than SLURM_STEP_NUM_TASKS"},
      {kSlurm, "SLURM_NTASKS", "9", "contradict each other"},
      {kSlurm, "SLURM_JOB_ID", "x", "must be a number"},
      {kSlurm, "SLURM_LOCALID", "2", "must be smaller than the 2 tasks"},
      {kSlurm, "SLURM_NODEID", "2", "SLURM_STEP_TASKS_PER_NODE=\"3,2\" does not tell"},
      {kSlurm, "SLURM_STEP_TASKS_PER_NODE", "many", "does not tell"},
      {kSlurm, "SLURM_STEP_TASKS_PER_NODE", "2(x99999999999999999999", "does not tell"},
      {kSlurm, "SLURM_STEP_NODELIST", "n[1", "is not a list of hosts"},
      {kOpenMpi, "OMPI_COMM_WORLD_RANK", "4", "must be smaller than OMPI_COMM_WORLD_SIZE"},
      {kOpenMpi, "OMPI_COMM_WORLD_SIZE", "two", "must be a number"},
      {kHydra, "PMI_RANK", "2", "must be smaller than PMI_SIZE"},
      {kHydra, "MPI_LOCALRANKID", "7", "must be smaller than MPI_LOCALNRANKS"},
      {kHorovod, "HOROVOD_RANK", "4", "must be smaller than HOROVOD_SIZE"},
      {kHorovod, "HOROVOD_GLOO_RENDEZVOUS_PORT", "http", "HOROVOD_GLOO_RENDEZVOUS_PORT"},
      {kMxnet, "DMLC_ROLE", "chief", "must be worker, server or scheduler"},
      {kMxnet, "DMLC_ROLE", "", "is set but empty"},
      {kMxnet, "DMLC_NUM_WORKER", "0", "must be at least 1"},
      {kMxnet, "DMLC_WORKER_ID", "3", "must be smaller than DMLC_NUM_WORKER=\"3\""},
      {kMxnet, "DMLC_PS_ROOT_PORT", "70000", "from 1 to 65535"},
      {kKubernetes, "JOB_COMPLETION_INDEX", "4", "must be smaller than the 4 processes"},
      {kKubernetes, "WORLD_SIZE", "-4", "must be a number"},
  };
  for (const auto& [environment, variable, value, expected] : cases) {
    const Environment wrong = With(environment, variable, value);
    EXPECT_THROW(ReadLaunchEnvironment(wrong), UsageError) << variable << "=" << value;
    const std::string error = ErrorOf([&] { ReadLaunchEnvironment(wrong); });
    EXPECT_HAS(error, variable);
    EXPECT_HAS(error, expected);
    for (const char c : error) EXPECT_GE(c, ' ') << error;
  }
}

// A part of a set must not train alone.
TEST(LaunchEnvironmentTest, IncompleteSetsAreErrorsThatNameWhatIsMissing) {
  const std::vector<std::pair<Environment, std::string>> cases = {
      {{{"RANK", "1"}}, "torchrun: WORLD_SIZE is not set"},
      {{{"WORLD_SIZE", "2"}}, "torchrun: RANK is not set"},
      {{{"DOPPIO_STORE", "file:///a"}}, "torchrun: RANK and WORLD_SIZE are not set"},
      {{{"LOCAL_RANK", "1"}}, "torchrun: RANK and WORLD_SIZE are not set"},
      {{{"MASTER_ADDR", "a"}}, "torchrun: RANK and WORLD_SIZE are not set"},
      {{{"HOROVOD_RANK", "1"}}, "Horovod: HOROVOD_SIZE is not set"},
      {{{"OMPI_COMM_WORLD_SIZE", "2"}}, "Open MPI: OMPI_COMM_WORLD_RANK is not set"},
      {{{"PMI_RANK", "1"}}, "PMI: PMI_SIZE is not set"},
      {{{"PMIX_RANK", "1"}}, "PMI: PMI_RANK and PMI_SIZE are not set"},
      {{{"SLURM_PROCID", "1"}}, "Slurm: SLURM_NTASKS is not set"},
      {{{"SLURM_NTASKS", "2"}}, "Slurm: SLURM_PROCID is not set"},
      {{{"DMLC_ROLE", "worker"}}, "MXNet: DMLC_NUM_WORKER is not set"},
      {{{"DMLC_TRACKER_URI", "a"}}, "MXNet: DMLC_ROLE and DMLC_NUM_WORKER are not set"},
      {{{"JOB_COMPLETION_INDEX", "1"}}, "Kubernetes: WORLD_SIZE is not set"},
      // The batch script of a job with several tasks, and the shell of salloc.
      {{{"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}},
       "job 7 has SLURM_NTASKS=\"4\", but this process was not started by srun"},
      {{{"SLURM_JOB_ID", "7"},
        {"SLURM_NTASKS", "4"},
        {"SLURM_STEP_ID", "4294967290"},
        {"SLURM_PROCID", "0"}},
       "not started by srun"},
  };
  for (const auto& [environment, expected] : cases) {
    EXPECT_THROW(ReadLaunchEnvironment(environment), UsageError) << expected;
    const std::string error = ErrorOf([&, set = environment] { ReadLaunchEnvironment(set); });
    EXPECT_HAS(error, expected);
    EXPECT_HAS(error, "to train alone give --num_shards 1 --shard_id 0");
  }
  EXPECT_EQ(Described({{"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "1"}}), "alone");
  EXPECT_EQ(Described({{"SLURM_JOB_ID", "7"}}), "alone");
}

TEST(LaunchEnvironmentTest, LeftoversOfAnotherLauncherMustAgree) {
  EXPECT_EQ(ReadLaunchEnvironment(With(kSlurm, "WORLD_SIZE", "5"))->dialect, "Slurm");
  EXPECT_EQ(ReadLaunchEnvironment(With(kSlurm, "RANK", "3"))->dialect, "Slurm");
  EXPECT_HAS(ErrorOf([] { ReadLaunchEnvironment(With(kSlurm, "WORLD_SIZE", "8")); }),
             "WORLD_SIZE=\"8\" contradicts Slurm, which says 5");
  EXPECT_HAS(ErrorOf([] { ReadLaunchEnvironment(With(kSlurm, "RANK", "0")); }),
             "RANK=\"0\" contradicts Slurm, which says 3");
}

TEST(LaunchEnvironmentTest, WrongClustersOfTensorFlow) {
  const std::string two = R"({"worker": ["a:1", "b:1"]})";
  const std::vector<std::pair<Environment, std::string>> cases = {
      {{{"TF_CONFIG", ""}}, "is set but empty"},
      {{{"TF_CONFIG", "worker 1"}}, "it is not JSON"},
      {{{"TF_CONFIG", "[1]"}}, "it is not JSON"},
      {{{"TF_CONFIG", "{}"}}, "\"cluster\" is not an object"},
      {{{"TF_CONFIG", R"({"cluster": {"worker": ["a:1"]}})"}}, "\"task\" is not an object"},
      {{{"TF_CONFIG", R"({"cluster": [], "task": {}})"}}, "\"cluster\" is not an object"},
      {TfConfig("worker", "2"), "this task is worker 2, but the cluster has 2 of that type"},
      {TfConfig("worker", "-1"), "the index of \"task\" must be a number"},
      {TfConfig("worker", "0.5"), "the index of \"task\" must be a number"},
      {TfConfig("worker", "1e300"), "the index of \"task\" must be a number"},
      {TfConfig("worker", "\"x\""), "the index of \"task\" must be a number"},
      {TfConfig("worker", "null"), "the index of \"task\" must be a number"},
      {TfConfig("chief", "0"), "this task is chief 0, but the cluster has 0 of that type"},
      {TfConfig("cook", "0"), "the type of \"task\" is \"cook\""},
      {TfConfig("worker", "0", R"({"worker": ["a"]})"), "the port is missing"},
      {TfConfig("worker", "0", R"({"worker": ["a:0"]})"), "from 1 to 65535"},
      {TfConfig("worker", "0", R"({"worker": "a:1"})"), "\"worker\" is not a list"},
      {TfConfig("worker", "0", R"({"worker": [1]})"), "not a string"},
      {TfConfig("worker", "0", R"({"worker": ["a:1", "a:1"]})"), "two tasks have the address a:1"},
      {TfConfig("chief", "0", R"({"chief": ["a:1", "b:1"]})"), "2 tasks of type chief"},
      {TfConfig("ps", "0", R"({"ps": ["a:1"], "worker": ["b:1"]})"),
       "no work for a task of type ps"},
      {TfConfig("worker", "0", R"({"ps": ["a:1"], "worker": ["b:1"]})"), "take \"ps\" out"},
      {TfConfig("evaluator", "0", two), "--test_data tests after each epoch"},
  };
  for (const auto& [environment, expected] : cases) {
    EXPECT_THROW(ReadLaunchEnvironment(environment), UsageError) << expected;
    const std::string error = ErrorOf([&, set = environment] { ReadLaunchEnvironment(set); });
    EXPECT_HAS(error, "TF_CONFIG");
    EXPECT_HAS(error, expected);
  }
}

TEST(ResolveLaunchTest, ParameterServersAreTheLastProcesses) {
  LaunchFlags flags{.num_shards = 3, .shard_id = 2, .run_id = "r", .names_store = true};
  flags.param_servers = 1;
  EXPECT_EQ(ResolveLaunch(flags, {}).role, Launch::Role::kServer);
  EXPECT_EQ(ResolveLaunch(flags, {}).num_servers, 1);
  flags.shard_id = 1;
  EXPECT_EQ(ResolveLaunch(flags, {}).role, Launch::Role::kWorker);
  flags.param_servers = 3;
  EXPECT_HAS(ErrorOf([&] { ResolveLaunch(flags, {}); }), "--param_servers is 3");
}

TEST(ResolveLaunchTest, TfConfigAndMxnetGiveTheRoles) {
  LaunchFlags flags{.param_servers = 0};
  const std::string cluster = R"({"worker": ["a:1", "b:1"], "ps": ["c:1"]})";
  const Launch ps = ResolveLaunch(flags, TfConfig("ps", "0", cluster));
  EXPECT_EQ(ps.role, Launch::Role::kServer);
  EXPECT_EQ(ps.rank, 2);
  EXPECT_EQ(ps.size, 3);
  EXPECT_EQ(ps.num_servers, 1);
  EXPECT_EQ(ps.Describe().find("TF_CONFIG: parameter server 0 of 1"), 0u) << ps.Describe();
  EXPECT_EQ(ResolveLaunch(flags, TfConfig("worker", "1", cluster)).rank, 1);
  flags.param_servers = 2;
  EXPECT_HAS(ErrorOf([&] { ResolveLaunch(flags, TfConfig("ps", "0", cluster)); }),
             "1 tasks of type ps");
  Environment mxnet = With(kMxnet, "DMLC_ROLE", "server");
  mxnet["DMLC_NUM_SERVER"] = "2";
  const Launch server = ResolveLaunch(flags, mxnet);
  EXPECT_EQ(server.role, Launch::Role::kServer);
  EXPECT_EQ(server.rank, Launch::kRankByArrival);
  EXPECT_EQ(server.num_servers, 2);
  mxnet["DMLC_NUM_SERVER"] = "1";
  EXPECT_HAS(ErrorOf([&] { ResolveLaunch(flags, mxnet); }), "DMLC_NUM_SERVER");
}

TEST(ResolveLaunchTest, BothFlagsOfThePlaceReplaceTheEnvironment) {
  LaunchFlags flags{
      .num_shards = 2, .shard_id = 1, .run_id = "r", .init_method = "", .names_store = false};
  for (const Environment& environment :
       {Environment(), kTorchrun, With(kTorchrun, "RANK", "nonsense"), TfConfig("ps", "0")}) {
    const Launch launch = ResolveLaunch(flags, environment);
    EXPECT_EQ(launch.dialect, "");
    EXPECT_EQ(launch.rank, 1);
    EXPECT_EQ(launch.size, 2);
    EXPECT_EQ(launch.run_id, "r");
    EXPECT_TRUE(launch.store.empty());
  }
  flags.init_method = "env://";
  const Launch launch = ResolveLaunch(flags, {{"MASTER_ADDR", "a"}, {"MASTER_PORT", "1000"}});
  EXPECT_EQ(launch.Describe(), "torchrun: shard 1 of 2, store tcp://a:1000-1015, run_id r");
}

TEST(ResolveLaunchTest, OneFlagOfThePlaceMustAgreeWithTheLauncher) {
  LaunchFlags flags;
  flags.num_shards = 4;
  EXPECT_EQ(ResolveLaunch(flags, kTorchrun).rank, 1);
  flags.num_shards = 3;
  EXPECT_HAS(ErrorOf([&] { ResolveLaunch(flags, kTorchrun); }),
             "--num_shards is 3, but torchrun says 4");
  flags.num_shards.reset();
  flags.shard_id = 0;
  EXPECT_HAS(ErrorOf([&] { ResolveLaunch(flags, kTorchrun); }),
             "--shard_id is 0, but torchrun says 1");
  // The same command starts all roles of MXNet.
  EXPECT_EQ(ResolveLaunch(flags, With(kMxnet, "DMLC_ROLE", "server")).role, Launch::Role::kIdle);
  // Kubernetes tells the index only.
  flags.shard_id.reset();
  flags.num_shards = 6;
  EXPECT_EQ(ResolveLaunch(flags, With(kKubernetes, "WORLD_SIZE", std::nullopt)).size, 6);
}

TEST(ResolveLaunchTest, TheStoreOfFlagsCountsBeforeTheLaunchers) {
  LaunchFlags flags;
  EXPECT_EQ(ResolveLaunch(flags, kTorchrun).store.ToString(), "tcp://10.0.0.5:29501-29516");
  flags.init_method = "env://";
  EXPECT_EQ(ResolveLaunch(flags, kTorchrun).store.ToString(), "tcp://10.0.0.5:29501-29516");
  EXPECT_HAS(ErrorOf([&] { ResolveLaunch(flags, {}); }), "set RANK, WORLD_SIZE, MASTER_ADDR");
  flags.init_method = "redis://store";
  EXPECT_EQ(ResolveLaunch(flags, kTorchrun).store.ToString(), "redis://store:6379");
  flags.names_store = true;
  EXPECT_HAS(ErrorOf([&] { ResolveLaunch(flags, kTorchrun); }), "leave out --redis_host");
  flags.init_method.clear();
  EXPECT_TRUE(ResolveLaunch(flags, kTorchrun).store.empty());
}

TEST(ResolveLaunchTest, RunsThatHaveTheirMeetingPointForThemselvesNeedNoName) {
  LaunchFlags flags;
  flags.num_shards = 2;
  flags.shard_id = 0;
  flags.init_method = "tcp://[::1]:4000";
  EXPECT_EQ(ResolveLaunch(flags, {}).run_id, "tcp_--1_4000");
  flags.init_method = "file:///shared/run1";
  EXPECT_EQ(ResolveLaunch(flags, {}).run_id, "run");
  flags.init_method = "redis://store";
  EXPECT_EQ(ResolveLaunch(flags, {}).run_id, "");
  flags.run_id = "mine";
  EXPECT_EQ(ResolveLaunch(flags, {}).run_id, "mine");
  EXPECT_EQ(ResolveLaunch({.run_id = "mine"}, kTorchrun).run_id, "mine");
}

TEST(ResolveLaunchTest, ShardsWithoutAMeetingPointAreAnError) {
  LaunchFlags flags;
  EXPECT_HAS(ErrorOf([&] {
               ResolveLaunch(flags, {{"RANK", "1"}, {"WORLD_SIZE", "2"}});
             }),
             "torchrun: shard 1 of 2, but no store to meet at: set MASTER_ADDR and MASTER_PORT");
  EXPECT_HAS(ErrorOf([&] {
               ResolveLaunch(flags, {{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}});
             }),
             "but no store to meet at: set SLURM_JOB_NODELIST");
  EXPECT_HAS(ErrorOf([&] { ResolveLaunch(flags, With(kMxnet, "DMLC_PS_ROOT_URI", std::nullopt)); }),
             "set DMLC_PS_ROOT_URI and DMLC_PS_ROOT_PORT");
  // All on one host share a directory.
  EXPECT_TRUE(ResolveLaunch(flags, kHydra).store.empty());
  EXPECT_HAS(ErrorOf([&] { ResolveLaunch(flags, With(kHydra, "MPI_LOCALNRANKS", std::nullopt)); }),
             "set MASTER_ADDR and MASTER_PORT");
  EXPECT_EQ(ResolveLaunch(flags, {{"RANK", "0"}, {"WORLD_SIZE", "1"}}).size, 1);
  flags.names_store = true;
  EXPECT_EQ(ResolveLaunch(flags, {{"RANK", "1"}, {"WORLD_SIZE", "2"}}).rank, 1);
  // Nobody numbers the workers where the scheduler does not keep the store.
  EXPECT_HAS(ErrorOf([&] { ResolveLaunch(flags, kMxnet); }), "DMLC_WORKER_ID is not set");
  EXPECT_EQ(ResolveLaunch(flags, With(kMxnet, "DMLC_ROLE", "scheduler")).role, Launch::Role::kIdle);
}

}  // namespace
}  // namespace caffe2::testing
