// Operators that make store handlers and use them.

#include "caffe2/core/operator.h"
#include "caffe2/core/workspace.h"
#include "distributed/file_store_handler.h"
#include "distributed/memory_store_handler.h"
#include "distributed/redis_store_handler.h"
#include "distributed/run_store_handler.h"
#include "distributed/signed_store.h"

namespace caffe2 {

namespace {

class StoreHandlerCreateOp : public Operator<CPUContext> {
 public:
  StoreHandlerCreateOp(const OperatorDef& def, Workspace* ws) : Operator(def, ws), ws_(ws) {
    for (const Argument& argument : def.arg()) {
      for (const char* word : {"password", "auth", "secret"}) {
        CAFFE_ENFORCE(argument.name().find(word) == std::string::npos, "argument ", argument.name(),
                      " of ", def.type(),
                      " is refused: copies of the net would contain it. Put a password into a file "
                      "that the environment variable CAFFE2_REDIS_PASSWORD_FILE names, or into "
                      "REDISCLI_AUTH, and a secret into a file that CAFFE2_SECRET_FILE names");
      }
    }
  }

 protected:
  bool SetHandler(std::unique_ptr<StoreHandler> handler) {
    *OperatorBase::Output<std::unique_ptr<StoreHandler>>(0) = std::move(handler);
    return true;
  }
  // Makes a handler; with a prefix, one that can join the run of that name. CAFFE2_SECRET_FILE may
  // name a secret that signs the values.
  bool SetHandler(const StoreFactory& unsigned_stores) {
    const StoreFactory stores = SignedStores(unsigned_stores, FindStoreSecret());
    RunOptions options;
    options.run_id = prefix();
    if (options.run_id.empty()) return SetHandler(stores(""));
    if (HasArgument("join_timeout_ms")) {
      options.join_timeout = milliseconds(GetSingleArgument<int64_t>("join_timeout_ms", 0));
      CAFFE_ENFORCE(options.join_timeout.count() > 0,
                    "argument join_timeout_ms must be positive, found ",
                    options.join_timeout.count());
    }
    options.while_waiting = [this] {
      if (ws_->StopRequested()) throw Error("stopped on request while the store cannot be reached");
    };
    return SetHandler(std::make_unique<RunStoreHandler>(stores, options));
  }
  std::string prefix() const { return GetSingleArgument<std::string>("prefix", ""); }

 private:
  Workspace* const ws_;
};

class FileStoreHandlerCreateOp final : public StoreHandlerCreateOp {
 public:
  using StoreHandlerCreateOp::StoreHandlerCreateOp;
  bool RunOnDevice() override {
    const auto path = GetSingleArgument<std::string>("path", "");
    CAFFE_ENFORCE(!path.empty(), type(), " needs the argument path");
    return SetHandler(FileStores(path));
  }
};

class RedisStoreHandlerCreateOp final : public StoreHandlerCreateOp {
 public:
  using StoreHandlerCreateOp::StoreHandlerCreateOp;
  bool RunOnDevice() override {
    RedisOptions options;
    options.host = GetSingleArgument<std::string>("host", "");
    CAFFE_ENFORCE(!options.host.empty(), type(), " needs the argument host");
    options.port = GetSingleArgument<int>("port", options.port);
    options.user = GetSingleArgument<std::string>("user", "");
    options.password = FindRedisPassword();
    options.database = GetSingleArgument<int>("db", 0);
    options.tls = GetSingleArgument<bool>("tls", false);
    options.ca_file = GetSingleArgument<std::string>("ca_file", "");
    options.cert_file = GetSingleArgument<std::string>("cert_file", "");
    options.key_file = GetSingleArgument<std::string>("key_file", "");
    if (HasArgument("timeout_ms")) {
      options.command_timeout = milliseconds(GetSingleArgument<int>("timeout_ms", 0));
      CAFFE_ENFORCE(options.command_timeout.count() > 0,
                    "argument timeout_ms must be positive, found ",
                    options.command_timeout.count());
    }
    return SetHandler(RedisStores(options));
  }
};

// One store for the whole process: shards are threads, each with its own workspace.
class MemoryStoreHandlerCreateOp final : public StoreHandlerCreateOp {
 public:
  using StoreHandlerCreateOp::StoreHandlerCreateOp;
  bool RunOnDevice() override {
    static const auto* const stores = new StoreFactory(MemoryStores());
    return SetHandler((*stores)(prefix()));
  }
};

constexpr char kNewHandlerText[] = "unique_ptr<StoreHandler>: the connection.";
constexpr char kPrefixText[] =
    "All keys of this handler begin with it. It is the run_id of the run that the first common "
    "world of several shards joins (default: none).";
constexpr char kJoinTimeoutText[] =
    "How long a shard waits for the others to join, in milliseconds (default: 300000).";

REGISTER_CPU_OPERATOR(FileStoreHandlerCreate, FileStoreHandlerCreateOp);
OPERATOR_SCHEMA(FileStoreHandlerCreate)
    .NumInputs(0)
    .NumOutputs(1)
    .NonTensorOutputs({0})
    .SetDoc("Makes a store handler over a directory that all shards see.")
    .Arg<std::string>("path", "The directory; it must exist.", true)
    .Arg<std::string>("prefix", kPrefixText)
    .Arg<int>("join_timeout_ms", kJoinTimeoutText)
    .Output(0, "handler", kNewHandlerText)
    .CpuOnly("it is about stores");
NO_GRADIENT(FileStoreHandlerCreate);

REGISTER_CPU_OPERATOR(RedisStoreHandlerCreate, RedisStoreHandlerCreateOp);
OPERATOR_SCHEMA(RedisStoreHandlerCreate)
    .NumInputs(0)
    .NumOutputs(1)
    .NonTensorOutputs({0})
    .SetDoc(
        "Makes a store handler over a Redis server and connects at once. The server's password is "
        "not an argument: it comes from a file that the environment variable "
        "CAFFE2_REDIS_PASSWORD_FILE names, or from REDISCLI_AUTH. If CAFFE2_SECRET_FILE names a "
        "file "
        "with a secret, values are signed with it (also in FileStoreHandlerCreate).")
    .Arg<std::string>("host", "Name or address of the server.", true)
    .Arg<int>("port", "Port (default: 6379).")
    .Arg<std::string>("prefix", kPrefixText)
    .Arg<int>("join_timeout_ms", kJoinTimeoutText)
    .Arg<std::string>("user", "User of the server's ACL (default: its default user).")
    .Arg<int>("db", "(default 0) Number of the database.")
    .Arg<bool>("tls", "Whether to connect with TLS (default: false).")
    .Arg<std::string>("ca_file",
                      "PEM file with the authorities that may sign the server's certificate "
                      "(default: those that the system trusts).")
    .Arg<std::string>("cert_file", "PEM file with this client's certificate (default: none).")
    .Arg<std::string>("key_file", "PEM file with its private key (default: in cert_file).")
    .Arg<int>("timeout_ms", "Time limit of each command in milliseconds (default: 10000).")
    .Output(0, "handler", kNewHandlerText)
    .CpuOnly("it is about stores");
NO_GRADIENT(RedisStoreHandlerCreate);

REGISTER_CPU_OPERATOR(MemoryStoreHandlerCreate, MemoryStoreHandlerCreateOp);
OPERATOR_SCHEMA(MemoryStoreHandlerCreate)
    .NumInputs(0)
    .NumOutputs(1)
    .NonTensorOutputs({0})
    .SetDoc("Makes a store handler over this process's memory, for shards that are threads.")
    .Arg<std::string>("prefix", "All keys of this handler begin with it (default: none).")
    .Output(0, "handler", kNewHandlerText)
    .CpuOnly("it is about stores");
NO_GRADIENT(MemoryStoreHandlerCreate);

}  // namespace

}  // namespace caffe2
