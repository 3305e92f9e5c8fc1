#include "distributed/common_world_op.h"

#include "distributed/joined_runs.h"
#include "distributed/shared_memory_communicator.h"

namespace caffe2 {

std::string ReportFailure(RunMembership* run, int world_size, const IoError& error) {
  // In a world of only some shards, ranks are not shard ids.
  const bool ranks_are_shards = world_size == run->options().num_shards;
  // A shard that was asked to stop ends the run itself, whatever it waited for.
  const bool peer_error = IsPeerError(error) && !StopIsRequested();
  const std::string line =
      run->ReportFailure(error.what(), peer_error, ranks_are_shards ? SuspectOf(error) : -1);
  if (line != error.what()) LOG(WARNING) << "what this shard saw: " << error.what();
  return line;
}

CommunicatorOptions WorldOptions(const OperatorBase& op) {
  CommunicatorOptions options;
  options.name = op.debug_def().name();
  CAFFE_ENFORCE(!options.name.empty(),
                "CreateCommonWorld has no operator name; give it one, which names the common world "
                "in the store");
  CAFFE_ENFORCE(op.HasArgument("size") && op.HasArgument("rank"), "CreateCommonWorld ",
                options.name, " needs the arguments size and rank");
  options.size = op.GetSingleArgument<int>("size", 0);
  options.rank = op.GetSingleArgument<int>("rank", 0);
  options.transport = op.GetSingleArgument<std::string>("transport", "auto");
  options.interface = op.GetSingleArgument<std::string>("interface", "");
  options.ports = ParsePortRange("argument port_range of CreateCommonWorld " + options.name,
                                 op.GetSingleArgument<std::string>("port_range", ""));
  const int timeout = op.GetSingleArgument<int>("timeout_ms", -1);
  if (timeout != -1) options.timeout = milliseconds(timeout);
  options.connect_timeout = milliseconds(op.GetSingleArgument<int>("connect_timeout_ms", 0));
  CAFFE_ENFORCE(!op.GetSingleArgument<bool>("mpi_rendezvous", false), "CreateCommonWorld ",
                options.name, ": mpi_rendezvous is not supported; give a store handler instead");
  return options;
}

std::map<std::string, std::string> WorldSettings(const OperatorBase& op) {
  std::map<std::string, std::string> settings;
  for (const std::string& setting : op.GetRepeatedArgument<std::string>("settings")) {
    const size_t equals = setting.find('=');
    CAFFE_ENFORCE(equals != std::string::npos && equals > 0, "CreateCommonWorld ",
                  op.debug_def().name(), ": \"", setting, "\" in settings is not name=value");
    settings[setting.substr(0, equals)] = setting.substr(equals + 1);
  }
  return settings;
}

StoreHandler* WorldStore(const OperatorBase& op) {
  CAFFE_ENFORCE(op.InputSize() == 1, "CreateCommonWorld ", op.debug_def().name(),
                " needs a store handler as its only input, found ", op.InputSize(), " inputs");
  StoreHandler* store = op.Input<std::unique_ptr<StoreHandler>>(0).get();
  CAFFE_ENFORCE(store != nullptr, "store handler ", op.debug_def().input(0), " is empty");
  return store;
}

namespace {

class CreateCommonWorldOp final : public CreateWorldOp<CPUContext> {
 public:
  using CreateWorldOp::CreateWorldOp;

 private:
  CommonWorld Connect(StoreHandler* store, const CommunicatorOptions& options) override {
    return ConnectShards(store, options);
  }
};

REGISTER_CPU_OPERATOR(CreateCommonWorld, CreateCommonWorldOp);
REGISTER_CPU_OPERATOR_WITH_ENGINE(CreateCommonWorld, GLOO, CreateCommonWorldOp);
OPERATOR_SCHEMA(CreateCommonWorld)
    .NumInputs(0, 1)
    .NumOutputs(1)
    .NonTensorOutputs({0})
    .SetDoc(
        "Connects the shards for collective operations. All shards run it with the same operator "
        "name, which is required: the store holds their addresses under <name>/<rank>. If the "
        "store handler has a prefix and there are several shards, the process first joins the run "
        "of that name (distributed/README.md).")
    .Arg<int>("size", "Number of shards.", true)
    .Arg<int>("rank", "Number of this shard, from 0.", true)
    .Arg<std::string>("transport",
                      "auto (default): shared memory if all shards run on one machine, otherwise "
                      "TCP; shared_memory: an error if they do not; tcp. NCCL chooses its own.")
    .Arg<std::string>(
        "interface",
        "Network interface, by name or address (default: the one that reaches the store).")
    .Arg<std::string>("port_range",
                      "The ports at which this shard may listen while the shards connect, like "
                      "\"4000-4010\" (default: any).")
    .Arg<int>(
        "connect_timeout_ms",
        "Time limit in milliseconds for connecting this world and its clones, if it is longer "
        "than timeout_ms (default: 0).")
    .ArgList<std::string>("settings",
                          "What must be the same on all shards that join the run, each as "
                          "\"name=value\" (default: empty).")
    .Arg<bool>("mpi_rendezvous", "Not supported: an error if true (default: false).")
    .FillUsing(CollectiveArguments)
    .Input(0, "kv_handler", "unique_ptr<StoreHandler>: where the shards meet.")
    .Output(0, "comm_world", "shared_ptr<Communicator>: the common world.");
NO_GRADIENT(CreateCommonWorld);

REGISTER_CPU_OPERATOR(CloneCommonWorld, CloneCommonWorldOp<CPUContext>);
REGISTER_CPU_OPERATOR_WITH_ENGINE(CloneCommonWorld, GLOO, CloneCommonWorldOp<CPUContext>);
OPERATOR_SCHEMA(CloneCommonWorld)
    .NumInputs(1)
    .NumOutputs(1)
    .NonTensorOutputs({0})
    .SetDoc(
        "Makes a second common world of the same shards, with its own connections, so that "
        "operations on both may overlap. Needs no store.")
    .FillUsing(CollectiveArguments)
    .Input(0, "existing_comm_world", "shared_ptr<Communicator> to clone.")
    .Output(0, "comm_world", "shared_ptr<Communicator>: the new common world.");
NO_GRADIENT(CloneCommonWorld);

REGISTER_CPU_OPERATOR(DestroyCommonWorld, DestroyCommonWorldOp<CPUContext>);
REGISTER_CPU_OPERATOR_WITH_ENGINE(DestroyCommonWorld, GLOO, DestroyCommonWorldOp<CPUContext>);
OPERATOR_SCHEMA(DestroyCommonWorld)
    .NumInputs(1)
    .NumOutputs(1)
    .EnforceInplace({{0, 0}})
    .NonTensorInputs({0})
    .NonTensorOutputs({0})
    .SetDoc("Closes the connections of a common world.")
    .Input(0, "common_world", "shared_ptr<Communicator> to close.")
    .Output(0, "common_world", "The same blob, now empty.");
NO_GRADIENT(DestroyCommonWorld);

}  // namespace

}  // namespace caffe2
