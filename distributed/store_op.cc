// Operators that read and write a store.

#include "caffe2/core/blob_serialization.h"
#include "caffe2/core/operator.h"
#include "distributed/store_handler.h"

namespace caffe2 {

namespace {

class StoreOp : public Operator<CPUContext> {
 public:
  using Operator::Operator;

 protected:
  StoreHandler* Store() {
    StoreHandler* store = OperatorBase::Input<std::unique_ptr<StoreHandler>>(0).get();
    CAFFE_ENFORCE(store != nullptr, "store handler ", debug_def().input(0), " is empty");
    return store;
  }
  std::string Key(const std::string& default_name) const {
    return GetSingleArgument<std::string>("blob_name", default_name);
  }
  milliseconds Timeout() const {
    return milliseconds(GetSingleArgument<int64_t>("timeout_ms", kDefaultTimeoutMs));
  }

 private:
  static constexpr int64_t kDefaultTimeoutMs = 30000;
};

class StoreSetOp final : public StoreOp {
 public:
  using StoreOp::StoreOp;
  bool RunOnDevice() override {
    const std::string key = Key(debug_def().input(1));
    Store()->Set(key, SerializeBlob(InputBlob(1), key));
    return true;
  }
};

class StoreGetOp final : public StoreOp {
 public:
  using StoreOp::StoreOp;
  bool RunOnDevice() override {
    DeserializeBlob(Store()->Get(Key(debug_def().output(0)), Timeout()), OutputBlob(0));
    return true;
  }
};

class StoreAddOp final : public StoreOp {
 public:
  using StoreOp::StoreOp;
  bool RunOnDevice() override {
    Tensor* sum = Output(0);
    sum->Resize(1);
    *sum->mutable_data<int64_t>() =
        Store()->Add(Key(debug_def().output(0)), GetSingleArgument<int64_t>("add_value", 1));
    return true;
  }
};

class StoreWaitOp final : public StoreOp {
 public:
  using StoreOp::StoreOp;
  bool RunOnDevice() override {
    auto names = GetRepeatedArgument<std::string>("blob_names");
    CAFFE_ENFORCE(names.empty() || InputSize() == 1,
                  "StoreWait: argument blob_names and input 1 cannot be used together");
    if (InputSize() == 2) {
      const auto* list = Input(1).data<std::string>();
      names.assign(list, list + Input(1).numel());
    }
    Store()->Wait(names, Timeout());
    return true;
  }
};

constexpr char kHandlerText[] = "unique_ptr<StoreHandler>: the store.";
constexpr char kTimeoutText[] = "Time limit in milliseconds (default: 30000).";

REGISTER_CPU_OPERATOR(StoreSet, StoreSetOp);
OPERATOR_SCHEMA(StoreSet)
    .NumInputs(2)
    .NonTensorInputs({0})
    .NumOutputs(0)
    .SetDoc("Publishes a blob in a store, serialized as a BlobProto. The key must not exist yet.")
    .Arg<std::string>("blob_name", "Key (default: the name of the blob).")
    .Input(0, "handler", kHandlerText)
    .Input(1, "data", "Any blob that can be serialized.")
    .CpuOnly("it is about stores");
NO_GRADIENT(StoreSet);

REGISTER_CPU_OPERATOR(StoreGet, StoreGetOp);
OPERATOR_SCHEMA(StoreGet)
    .NumInputs(1)
    .NonTensorInputs({0})
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>&) {
      std::vector<TensorShape> out(1);
      out[0].set_unknown_shape(true);
      return out;
    })
    .SetDoc("Fetches a blob that StoreSet published, here or on another shard; waits for it.")
    .Arg<std::string>("blob_name", "Key (default: the name of the output).")
    .Arg<int>("timeout_ms", kTimeoutText)
    .Input(0, "handler", kHandlerText)
    .Output(0, "data", "The blob.")
    .CpuOnly("it is about stores");
NO_GRADIENT(StoreGet);

REGISTER_CPU_OPERATOR(StoreAdd, StoreAddOp);
OPERATOR_SCHEMA(StoreAdd)
    .NumInputs(1)
    .NonTensorInputs({0})
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>&) {
      std::vector<TensorShape> out(1);
      out[0].set_data_type(TensorProto::INT64);
      out[0].add_dims(1);
      return out;
    })
    .SetDoc("Adds to a counter that all shards share.")
    .Arg<std::string>("blob_name", "Key (default: the name of the output).")
    .Arg<int>("add_value", "The number to add (default: 1).")
    .Input(0, "handler", kHandlerText)
    .Output(0, "value", "int64 (1): the sum.")
    .CpuOnly("it is about stores");
NO_GRADIENT(StoreAdd);

REGISTER_CPU_OPERATOR(StoreWait, StoreWaitOp);
OPERATOR_SCHEMA(StoreWait)
    .NumInputs(1, 2)
    .NonTensorInputs({0})
    .NumOutputs(0)
    .SetDoc("Waits until keys exist in a store.")
    .ArgList<std::string>("blob_names", "The keys, unless input 1 names them.")
    .Arg<int>("timeout_ms", kTimeoutText)
    .Input(0, "handler", kHandlerText)
    .Input(1, "names", "std::string tensor: the keys (optional).")
    .CpuOnly("it is about stores");
NO_GRADIENT(StoreWait);

}  // namespace

}  // namespace caffe2
