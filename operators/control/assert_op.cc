// Assert, and scalars that threads share: AtomicFetchAdd, CreateAtomicBool,
// ConditionalSetAtomicBool, CheckAtomicBool.
#include <algorithm>
#include <atomic>
#include <mutex>

#include "caffe2/core/operator.h"
#include "operators/common/cpu_only.h"
#include "operators/common/created_object.h"

namespace caffe2 {

using AtomicBoolPtr = std::unique_ptr<std::atomic<bool>>;
CAFFE2_TYPE_NAME(AtomicBoolPtr, "std::unique_ptr<std::atomic<bool>>");

namespace {

class AssertOp final : public Operator<CPUContext> {
 public:
  AssertOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), message_(GetSingleArgument<std::string>("error_msg", "")) {}
  bool RunOnDevice() override {
    return TensorTypes<bool, int32_t, int64_t>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    const T* x = Input(0).data<T>();
    for (int64_t i = 0; i < Input(0).numel(); ++i) {
      CAFFE_ENFORCE(x[i] != T(0), "element ", i, " is false",
                    message_.empty() ? "" : ": " + message_);
    }
    return true;
  }

 private:
  std::string message_;
};

class AtomicFetchAddOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const auto& mutex =
        CreatedObject<std::unique_ptr<std::mutex>>(*this, 0, "mutex", "CreateMutex");
    CAFFE_ENFORCE(Input(1).numel() == 1 && Input(2).numel() == 1,
                  "both numbers must have one element: their shapes are ",
                  ShapeString(Input(1).sizes()), " and ", ShapeString(Input(2).sizes()));
    const std::lock_guard<std::mutex> lock(*mutex);
    const int32_t before = *Input(1).data<int32_t>(), step = *Input(2).data<int32_t>();
    Output(1)->Resize();
    *Output(1)->mutable_data<int32_t>() = before;
    // Wraps around, as atomic addition does.
    *Output(0)->mutable_data<int32_t>() =
        static_cast<int32_t>(static_cast<uint32_t>(before) + static_cast<uint32_t>(step));
    return true;
  }
};

class CreateAtomicBoolOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    *Output<AtomicBoolPtr>(0) = std::make_unique<std::atomic<bool>>(false);
    return true;
  }
};

class ConditionalSetAtomicBoolOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const auto& value = CreatedObject<AtomicBoolPtr>(*this, 0, "atomic bool", "CreateAtomicBool");
    CAFFE_ENFORCE(Input(1).numel() == 1, "the condition must have one element, found ",
                  Input(1).numel());
    if (*Input(1).data<bool>()) value->store(true);
    return true;
  }
};

class CheckAtomicBoolOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const auto& value = CreatedObject<AtomicBoolPtr>(*this, 0, "atomic bool", "CreateAtomicBool");
    Output(0)->Resize();
    *Output(0)->mutable_data<bool>() = value->load();
    return true;
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(Assert, AssertOp);
REGISTER_CPU_OPERATOR(AtomicFetchAdd, AtomicFetchAddOp);
REGISTER_CPU_OPERATOR(CreateAtomicBool, CreateAtomicBoolOp);
REGISTER_CPU_OPERATOR(ConditionalSetAtomicBool, ConditionalSetAtomicBoolOp);
REGISTER_CPU_OPERATOR(CheckAtomicBool, CheckAtomicBoolOp);

OPERATOR_SCHEMA(Assert)
    .NumInputs(1)
    .NumOutputs(0)
    .SetDoc("Fails unless all elements are true, or not 0.")
    .Arg<std::string>("error_msg", "Text added to the error. Default: nothing.")
    .Input(0, "X", "A bool, int32 or int64 tensor.")
    .CpuOnly(cpu_only::kEndsRun);
OPERATOR_SCHEMA(AtomicFetchAdd)
    .NonTensorInputs({0})
    .NumInputs(3)
    .NumOutputs(2)
    .EnforceInplace({{1, 0}})
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in[1], CreateTensorShape({}, TensorProto::INT32)};
    })
    .SetDoc("Adds to a number under a mutex.")
    .Input(0, "mutex_ptr", "A mutex made by CreateMutex.")
    .Input(1, "mut_value", "The number, one int32; updated.")
    .Input(2, "increment", "The number to add, one int32.")
    .Output(0, "mut_value", "The number, in place.")
    .Output(1, "fetched_value", "An int32 scalar: the number before the addition.")
    .CpuOnly(cpu_only::kSteersHost);
OPERATOR_SCHEMA(CreateAtomicBool)
    .NonTensorOutputs({0})
    .NumInputs(0)
    .NumOutputs(1)
    .SetDoc("Makes a bool that threads share; it is false.")
    .Output(0, "atomic_bool", "The bool, a blob that is not a tensor.")
    .CpuOnly(cpu_only::kSteersHost);
OPERATOR_SCHEMA(ConditionalSetAtomicBool)
    .NonTensorInputs({0})
    .NumInputs(2)
    .NumOutputs(0)
    .SetDoc("Sets a shared bool to true if a condition holds.")
    .Input(0, "atomic_bool", "A bool made by CreateAtomicBool.")
    .Input(1, "condition", "Bool, one element.")
    .CpuOnly(cpu_only::kSteersHost);
OPERATOR_SCHEMA(CheckAtomicBool)
    .NonTensorInputs({0})
    .NumInputs(1)
    .NumOutputs(1)
    .ScalarType(TensorProto::BOOL)
    .SetDoc("The value of a shared bool.")
    .Input(0, "atomic_bool", "A bool made by CreateAtomicBool.")
    .Output(0, "value", "A bool scalar.")
    .CpuOnly(cpu_only::kSteersHost);
SHOULD_NOT_DO_GRADIENT(Assert);
SHOULD_NOT_DO_GRADIENT(AtomicFetchAdd);
SHOULD_NOT_DO_GRADIENT(CreateAtomicBool);
SHOULD_NOT_DO_GRADIENT(ConditionalSetAtomicBool);
SHOULD_NOT_DO_GRADIENT(CheckAtomicBool);

}  // namespace caffe2
