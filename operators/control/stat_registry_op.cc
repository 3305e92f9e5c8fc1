// StatRegistryCreate, StatRegistryUpdate, StatRegistryExport: named sums. TimerBegin, TimerEnd,
// TimerGet, TimerGetAndEnd, WallClockTime: times.
#include <chrono>

#include "caffe2/core/operator.h"
#include "operators/common/cpu_only.h"
#include "operators/common/created_object.h"
#include "operators/control/stat_registry.h"

namespace caffe2 {

CAFFE2_TYPE_NAME(std::unique_ptr<StatRegistry>, "std::unique_ptr<caffe2::StatRegistry>");

// Measures the time since its construction. `name` names its statistics.
class Timer {
 public:
  explicit Timer(std::string name) : name_(std::move(name)) {}
  const std::string& name() const { return name_; }
  int64_t Nanoseconds() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() -
                                                                begin_)
        .count();
  }

 private:
  std::string name_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};
CAFFE2_TYPE_NAME(std::unique_ptr<Timer>, "std::unique_ptr<caffe2::TimerInstance>");

namespace {

using RegistryPtr = std::unique_ptr<StatRegistry>;
using TimerPtr = std::unique_ptr<Timer>;

int64_t WallClockNanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

class StatRegistryCreateOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    *Output<RegistryPtr>(0) = std::make_unique<StatRegistry>();
    return true;
  }
};

class StatRegistryOp : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;

 protected:
  // The registry in input i, or the global one if there is no such input.
  StatRegistry* Registry(int i) const {
    if (InputSize() <= i) return StatRegistry::Global();
    return CreatedObject<RegistryPtr>(*this, i, "registry", "StatRegistryCreate").get();
  }
};

class StatRegistryUpdateOp final : public StatRegistryOp {
 public:
  using StatRegistryOp::StatRegistryOp;
  bool RunOnDevice() override {
    const Tensor &keys = Input(0), &values = Input(1);
    CAFFE_ENFORCE(keys.numel() == values.numel(),
                  "there must be one value for each key: there are ", keys.numel(), " keys and ",
                  values.numel(), " values");
    StatRegistry* registry = Registry(2);
    const std::string* key = keys.data<std::string>();
    const int64_t* value = values.data<int64_t>();
    for (int64_t i = 0; i < keys.numel(); ++i) registry->Add(key[i], value[i]);
    return true;
  }
};

class StatRegistryExportOp final : public StatRegistryOp {
 public:
  using StatRegistryOp::StatRegistryOp;
  bool RunOnDevice() override {
    const auto sums = Registry(0)->Export(GetSingleArgument<bool>("reset", true));
    const auto n = static_cast<int64_t>(sums.size());
    for (int i = 0; i < 3; ++i) Output(i)->Resize(n);
    std::string* key = Output(0)->mutable_data<std::string>();
    int64_t* value = Output(1)->mutable_data<int64_t>();
    std::fill_n(Output(2)->mutable_data<int64_t>(), n, WallClockNanoseconds());
    for (const auto& [name, sum] : sums) {
      *key++ = name;
      *value++ = sum;
    }
    return true;
  }
};

class TimerBeginOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    *Output<TimerPtr>(0) = std::make_unique<Timer>(
        GetSingleArgument<std::string>("counter_name", debug_def().output(0)));
    return true;
  }
};

// Reads a timer, and adds the time to the global registry under the timer's name if it ends.
template <bool kEnd>
class TimerReadOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const auto& timer = Input<TimerPtr>(0);
    CAFFE_ENFORCE(timer != nullptr, "the timer was not begun");
    const int64_t nanoseconds = timer->Nanoseconds();
    if (kEnd) {
      StatRegistry::Global()->Add(timer->name() + "/time_ns/sum", nanoseconds);
      StatRegistry::Global()->Add(timer->name() + "/time_ns/count", 1);
    }
    if (OutputSize() == 0) return true;
    Output(0)->Resize();
    *Output(0)->template mutable_data<int64_t>() = nanoseconds;
    return true;
  }
};

class WallClockTimeOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    Output(0)->Resize();
    *Output(0)->mutable_data<int64_t>() = WallClockNanoseconds();
    return true;
  }
};

}  // namespace

StatRegistry* StatRegistry::Global() {
  static StatRegistry registry;
  return &registry;
}

REGISTER_CPU_OPERATOR(StatRegistryCreate, StatRegistryCreateOp);
REGISTER_CPU_OPERATOR(StatRegistryUpdate, StatRegistryUpdateOp);
REGISTER_CPU_OPERATOR(StatRegistryExport, StatRegistryExportOp);
REGISTER_CPU_OPERATOR(TimerBegin, TimerBeginOp);
REGISTER_CPU_OPERATOR(TimerEnd, TimerReadOp<true>);
REGISTER_CPU_OPERATOR(TimerGetAndEnd, TimerReadOp<true>);
REGISTER_CPU_OPERATOR(TimerGet, TimerReadOp<false>);
REGISTER_CPU_OPERATOR(WallClockTime, WallClockTimeOp);

OPERATOR_SCHEMA(StatRegistryCreate)
    .NumInputs(0)
    .NumOutputs(1)
    .NonTensorOutputs({0})
    .SetDoc("Makes an empty registry of named sums.")
    .Output(0, "handle", "The registry, a blob that is not a tensor.")
    .CpuOnly(cpu_only::kWorkspace);
OPERATOR_SCHEMA(StatRegistryUpdate)
    .NumInputs(2, 3)
    .NumOutputs(0)
    .NonTensorInputs({2})
    .SetDoc("Adds to the sums of a registry.")
    .Input(0, "keys", "Strings: the names.")
    .Input(1, "values", "int64: the number to add for each name.")
    .Input(2, "handle", "Optional: the registry. Default: the registry of the process.")
    .CpuOnly(cpu_only::kWorkspace);
OPERATOR_SCHEMA(StatRegistryExport)
    .NumInputs(0, 1)
    .NumOutputs(3)
    .NonTensorInputs({0})
    .SetDoc("The sums of a registry, by name in ascending order.")
    .Arg<bool>("reset", "(default 1) Sets them to 0 afterwards.")
    .Input(0, "handle", "Optional: the registry. Default: the registry of the process.")
    .Output(0, "keys", "Strings: the names; their number is known at run time only.")
    .Output(1, "values", "int64: the sums.")
    .Output(2, "timestamps", "int64: the time of this export, nanoseconds since 1970.")
    .CpuOnly(cpu_only::kWorkspace);
OPERATOR_SCHEMA(TimerBegin)
    .NumInputs(0)
    .NumOutputs(1)
    .NonTensorOutputs({0})
    .SetDoc("Starts a timer.")
    .Arg<std::string>("counter_name",
                      "The name of its statistics. Default: the name of the output.")
    .Output(0, "timer", "The timer, a blob that is not a tensor.")
    .CpuOnly(cpu_only::kWorkspace);
OPERATOR_SCHEMA(TimerEnd)
    .NumInputs(1)
    .NumOutputs(0)
    .NonTensorInputs({0})
    .SetDoc(
        "Adds the time since a timer began to the statistics of the process: the nanoseconds to "
        "NAME/time_ns/sum and 1 to NAME/time_ns/count, where NAME is the timer's counter_name.")
    .Input(0, "timer", "A timer.")
    .CpuOnly(cpu_only::kWorkspace);
OPERATOR_SCHEMA(TimerGetAndEnd)
    .NumInputs(1)
    .NumOutputs(1)
    .NonTensorInputs({0})
    .ScalarType(TensorProto::INT64)
    .SetDoc("TimerEnd and TimerGet in one.")
    .Input(0, "timer", "A timer.")
    .Output(0, "nanos", "An int64 scalar: nanoseconds.")
    .CpuOnly(cpu_only::kWorkspace);
OPERATOR_SCHEMA(TimerGet)
    .NumInputs(1)
    .NumOutputs(1)
    .NonTensorInputs({0})
    .ScalarType(TensorProto::INT64)
    .SetDoc("The time since a timer began.")
    .Input(0, "timer", "A timer.")
    .Output(0, "nanos", "An int64 scalar: nanoseconds.")
    .CpuOnly(cpu_only::kWorkspace);
OPERATOR_SCHEMA(WallClockTime)
    .NumInputs(0)
    .NumOutputs(1)
    .ScalarType(TensorProto::INT64)
    .SetDoc("The time of day.")
    .Output(0, "time", "An int64 scalar: nanoseconds since 1970.")
    .CpuOnly(cpu_only::kWorkspace);
SHOULD_NOT_DO_GRADIENT(StatRegistryCreate);
SHOULD_NOT_DO_GRADIENT(StatRegistryUpdate);
SHOULD_NOT_DO_GRADIENT(StatRegistryExport);
SHOULD_NOT_DO_GRADIENT(TimerBegin);
SHOULD_NOT_DO_GRADIENT(TimerEnd);
SHOULD_NOT_DO_GRADIENT(TimerGet);
SHOULD_NOT_DO_GRADIENT(TimerGetAndEnd);
SHOULD_NOT_DO_GRADIENT(WallClockTime);

}  // namespace caffe2
