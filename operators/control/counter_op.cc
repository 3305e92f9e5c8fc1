// Counters: CreateCounter, ResetCounter, CountUp, CountDown, CheckCounterDone, RetrieveCount.
#include "operators/control/counter_op.h"

#include "caffe2/core/blob_serialization.h"
#include "caffe2/core/operator.h"
#include "operators/common/cpu_only.h"
#include "operators/common/created_object.h"

namespace caffe2 {
namespace {

class CreateCounterOp final : public Operator<CPUContext> {
 public:
  CreateCounterOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), init_count_(GetSingleArgument<int64_t>("init_count", 0)) {
    CAFFE_ENFORCE(init_count_ >= 0, "argument init_count must not be negative, found ",
                  init_count_);
  }
  bool RunOnDevice() override {
    *Output<std::unique_ptr<Counter>>(0) = std::make_unique<Counter>(init_count_);
    return true;
  }

 private:
  int64_t init_count_;
};

// The output (optional for some operators) is a scalar: the result of Action on the counter.
template <class Action>
class CounterOp final : public Operator<CPUContext> {
 public:
  CounterOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), init_count_(GetSingleArgument<int64_t>("init_count", 0)) {
    CAFFE_ENFORCE(init_count_ >= 0, "argument init_count must not be negative, found ",
                  init_count_);
  }
  bool RunOnDevice() override {
    const auto& counter =
        CreatedObject<std::unique_ptr<Counter>>(*this, 0, "counter", "CreateCounter");
    const auto value = Action::Run(counter.get(), init_count_);
    if (OutputSize() == 0) return true;
    Tensor* Y = Output(0);
    Y->Resize();
    *Y->mutable_data<std::remove_const_t<decltype(value)>>() = value;
    return true;
  }

 private:
  int64_t init_count_;
};

struct Reset {
  static int64_t Run(Counter* counter, int64_t init_count) { return counter->Reset(init_count); }
};
struct Up {
  static int64_t Run(Counter* counter, int64_t) { return counter->Add(1); }
};
struct Down {
  static bool Run(Counter* counter, int64_t) { return counter->Add(-1) <= 0; }
};
struct CheckDone {
  static bool Run(Counter* counter, int64_t) { return counter->value() <= 0; }
};
struct Retrieve {
  static int64_t Run(Counter* counter, int64_t) { return counter->value(); }
};

// As in Caffe2: a BlobProto with a tensor of one int64.
class CounterSerializer final : public BlobSerializer {
 public:
  void Serialize(const Blob& blob, const std::string& name, const SerializationAcceptor& acceptor,
                 const BlobSerializationOptions& /*options*/) override {
    const auto& counter = blob.Get<std::unique_ptr<Counter>>();
    CAFFE_ENFORCE(counter != nullptr, "the counter \"", name, "\" was not created");
    BlobProto proto;
    proto.set_name(name);
    proto.set_type(blob.TypeName());
    TensorProto* tensor = proto.mutable_tensor();
    tensor->set_name(name);
    tensor->set_data_type(TensorProto::INT64);
    tensor->add_dims(1);
    tensor->add_int64_data(counter->value());
    acceptor(name, proto.SerializeAsString());
  }

  void Deserialize(const BlobProto& proto, Blob* blob) override {
    Tensor value;
    DeserializeTensor(proto.tensor(), &value);
    CAFFE_ENFORCE(value.IsType<int64_t>() && value.numel() == 1, "the counter \"", proto.name(),
                  "\" is ", value.DebugString(), " where one int64 is needed");
    *blob->GetMutable<std::unique_ptr<Counter>>() =
        std::make_unique<Counter>(*value.data<int64_t>());
  }
};
REGISTER_BLOB_SERIALIZER(TypeName<std::unique_ptr<Counter>>::Get(), CounterSerializer);

void DescribeCounter(OpSchema& schema) {
  schema.NumInputs(1).NumOutputs(1).NonTensorInputs({0}).Input(0, "counter",
                                                               "A counter made by CreateCounter.");
}

}  // namespace

REGISTER_CPU_OPERATOR(CreateCounter, CreateCounterOp);
REGISTER_CPU_OPERATOR(ResetCounter, CounterOp<Reset>);
REGISTER_CPU_OPERATOR(CountUp, CounterOp<Up>);
REGISTER_CPU_OPERATOR(CountDown, CounterOp<Down>);
REGISTER_CPU_OPERATOR(CheckCounterDone, CounterOp<CheckDone>);
REGISTER_CPU_OPERATOR(RetrieveCount, CounterOp<Retrieve>);

OPERATOR_SCHEMA(CreateCounter)
    .NumInputs(0)
    .NumOutputs(1)
    .NonTensorOutputs({0})
    .SetDoc("Makes a counter.")
    .Arg<int>("init_count", "(>= 0, default 0) Its value.")
    .Output(0, "counter", "The counter, a blob that is not a tensor.")
    .CpuOnly(cpu_only::kSteersHost);
OPERATOR_SCHEMA(ResetCounter)
    .FillUsing(DescribeCounter)
    .NumOutputs(0, 1)
    .ScalarType(TensorProto::INT64)
    .SetDoc("Sets a counter.")
    .Arg<int>("init_count", "(>= 0, default 0) The new value.")
    .Output(0, "previous_value", "Optional: an int64 scalar, the old value.")
    .CpuOnly(cpu_only::kSteersHost);
OPERATOR_SCHEMA(CountUp)
    .FillUsing(DescribeCounter)
    .ScalarType(TensorProto::INT64)
    .SetDoc("Adds 1 to a counter.")
    .Output(0, "previous_count", "An int64 scalar: the value from before.")
    .CpuOnly(cpu_only::kSteersHost);
OPERATOR_SCHEMA(CountDown)
    .FillUsing(DescribeCounter)
    .ScalarType(TensorProto::BOOL)
    .SetDoc("Takes 1 from a counter.")
    .Output(0, "done", "A bool scalar: whether the counter had reached 0 before.")
    .CpuOnly(cpu_only::kSteersHost);
OPERATOR_SCHEMA(CheckCounterDone)
    .FillUsing(DescribeCounter)
    .ScalarType(TensorProto::BOOL)
    .SetDoc("Tells whether a counter has reached 0.")
    .Output(0, "done", "A bool scalar.")
    .CpuOnly(cpu_only::kSteersHost);
OPERATOR_SCHEMA(RetrieveCount)
    .FillUsing(DescribeCounter)
    .ScalarType(TensorProto::INT64)
    .SetDoc("The value of a counter.")
    .Output(0, "count", "An int64 scalar.")
    .CpuOnly(cpu_only::kSteersHost);
SHOULD_NOT_DO_GRADIENT(CreateCounter);
SHOULD_NOT_DO_GRADIENT(ResetCounter);
SHOULD_NOT_DO_GRADIENT(CountUp);
SHOULD_NOT_DO_GRADIENT(CountDown);
SHOULD_NOT_DO_GRADIENT(CheckCounterDone);
SHOULD_NOT_DO_GRADIENT(RetrieveCount);

}  // namespace caffe2
