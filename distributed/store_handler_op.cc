// Operators that make store handlers and use them.

#include "caffe2/core/operator.h"
#include "distributed/file_store_handler.h"
#include "distributed/memory_store_handler.h"
#include "distributed/redis_store_handler.h"

namespace caffe2 {

namespace {

class StoreHandlerCreateOp : public Operator<CPUContext> {
 public:
  using Operator::Operator;

 protected:
  bool SetHandler(std::unique_ptr<StoreHandler> handler) {
    *OperatorBase::Output<std::unique_ptr<StoreHandler>>(0) = std::move(handler);
    return true;
  }
  std::string prefix() const { return GetSingleArgument<std::string>("prefix", ""); }
};

class FileStoreHandlerCreateOp final : public StoreHandlerCreateOp {
 public:
  using StoreHandlerCreateOp::StoreHandlerCreateOp;
  bool RunOnDevice() override {
    const auto path = GetSingleArgument<std::string>("path", "");
    CAFFE_ENFORCE(!path.empty(), "path is a required argument");
    return SetHandler(NewFileStore(path, prefix()));
  }
};

class RedisStoreHandlerCreateOp final : public StoreHandlerCreateOp {
 public:
  using StoreHandlerCreateOp::StoreHandlerCreateOp;
  bool RunOnDevice() override {
    RedisOptions options;
    options.host = GetSingleArgument<std::string>("host", "");
    CAFFE_ENFORCE(!options.host.empty(), "host is a required argument");
    options.port = GetSingleArgument<int>("port", options.port);
    options.user = GetSingleArgument<std::string>("user", "");
    options.password = GetSingleArgument<std::string>("password", "");
    options.database = GetSingleArgument<int>("db", 0);
    if (HasArgument("timeout_ms")) {
      options.command_timeout = milliseconds(GetSingleArgument<int>("timeout_ms", 0));
      CAFFE_ENFORCE_GT(options.command_timeout.count(), 0, "timeout_ms");
    }
    return SetHandler(NewRedisStore(options, prefix()));
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

constexpr char kHandlerText[] = "unique_ptr<StoreHandler>: the connection.";
constexpr char kPrefixText[] =
    "All keys of this handler begin with it: the run_id (default: none).";

REGISTER_CPU_OPERATOR(FileStoreHandlerCreate, FileStoreHandlerCreateOp);
OPERATOR_SCHEMA(FileStoreHandlerCreate)
    .NumInputs(0)
    .NumOutputs(1)
    .NonTensorOutputs({0})
    .SetDoc("Makes a store handler over a directory that all shards see.")
    .Arg("path", "Directory; must exist.", true)
    .Arg("prefix", kPrefixText)
    .Output(0, "handler", kHandlerText);
NO_GRADIENT(FileStoreHandlerCreate);

REGISTER_CPU_OPERATOR(RedisStoreHandlerCreate, RedisStoreHandlerCreateOp);
OPERATOR_SCHEMA(RedisStoreHandlerCreate)
    .NumInputs(0)
    .NumOutputs(1)
    .NonTensorOutputs({0})
    .SetDoc("Makes a store handler over a Redis server; connects at once.")
    .Arg("host", "Name or address of the server.", true)
    .Arg("port", "Port (default: 6379).")
    .Arg("prefix", kPrefixText)
    .Arg("user", "User of the server's ACL (default: its default user).")
    .Arg("password", "Password (default: none).")
    .Arg("db", "Number of the database (default: 0).")
    .Arg("timeout_ms", "Limit of each command (default: 10000).")
    .Output(0, "handler", kHandlerText);
NO_GRADIENT(RedisStoreHandlerCreate);

REGISTER_CPU_OPERATOR(MemoryStoreHandlerCreate, MemoryStoreHandlerCreateOp);
OPERATOR_SCHEMA(MemoryStoreHandlerCreate)
    .NumInputs(0)
    .NumOutputs(1)
    .NonTensorOutputs({0})
    .SetDoc("Makes a store handler over this process's memory, for shards that are threads.")
    .Arg("prefix", kPrefixText)
    .Output(0, "handler", kHandlerText);
NO_GRADIENT(MemoryStoreHandlerCreate);

}  // namespace

}  // namespace caffe2
