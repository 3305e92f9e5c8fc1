// AveragePut, IncrementPut, StdDevPut: add numbers of a net to the statistics of the process.
#include <cmath>
#include <limits>

#include "operators/common/cpu_only.h"
#include "operators/common/element_type.h"
#include "operators/control/stat_registry.h"

namespace caffe2 {
namespace {

constexpr double kLimit = 0x1p63;

// The smallest or the largest int64.
int64_t Bound(bool negative) {
  return negative ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

// The value without its fraction, or the nearest int64; 0 for NaN.
int64_t ToInt64(double value) {
  if (std::isnan(value)) return 0;
  return std::abs(value) < kLimit ? static_cast<int64_t>(value) : Bound(value < 0);
}

using StatTypes = TensorTypes<float, int32_t, int64_t, double, float16, bfloat16, uint8_t, int8_t,
                              uint16_t, int16_t>;

// Statistics are integers: a number is multiplied by magnitude_expand and truncated.
class StatPutOp : public Operator<CPUContext> {
 public:
  StatPutOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        name_(GetSingleArgument<std::string>("stat_name", def.input(0)) + "/stat_value"),
        factor_(GetSingleArgument<int64_t>("magnitude_expand", 1)),
        bound_(GetSingleArgument<bool>("bound", false)),
        has_default_(HasArgument("default_value")),
        default_(GetSingleArgument<float>("default_value", 0)) {}

  bool RunOnDevice() override {
    if (Input(0).numel() == 0) {
      CAFFE_ENFORCE(has_default_, "there is neither a value for ", name_, " nor a default_value");
      Put(ToInteger(default_));
      return true;
    }
    return StatTypes::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    const auto value = Widen(*Input(0).data<T>());
    if constexpr (std::is_integral_v<T>) {
      Put(ToInteger(int64_t{value}));
    } else {
      Put(ToInteger(double{value}));
    }
    return true;
  }

 protected:
  // Adds to the sum of this statistic or, with a part "/...", to the sum of that part.
  void Add(const std::string& part, int64_t value) {
    StatRegistry::Global()->Add(name_ + part, value);
  }
  int64_t First(int64_t value) { return StatRegistry::Global()->First(name_, value); }

 private:
  virtual void Put(int64_t value) = 0;

  int64_t ToInteger(double value) const {
    const double product = value * static_cast<double>(factor_);
    CAFFE_ENFORCE(bound_ || std::abs(product) < kLimit, "the statistic ", name_, " cannot be ",
                  value, " times ", factor_);
    return ToInt64(product);
  }
  // Without conversion to double, which would round numbers above 2^53.
  int64_t ToInteger(int64_t value) const {
    int64_t product;
    if (!__builtin_mul_overflow(value, factor_, &product)) return product;
    CAFFE_ENFORCE(bound_, "the statistic ", name_, " cannot be ", value, " times ", factor_);
    return Bound((value < 0) != (factor_ < 0));
  }

  std::string name_;
  int64_t factor_;
  bool bound_, has_default_;
  double default_;
};

class AveragePutOp final : public StatPutOp {
 public:
  using StatPutOp::StatPutOp;

 private:
  void Put(int64_t value) override {
    Add("/sum", value);
    Add("/count", 1);
  }
};

class IncrementPutOp final : public StatPutOp {
 public:
  using StatPutOp::StatPutOp;

 private:
  void Put(int64_t value) override { Add("", value); }
};

// Sums differences from the first value: sums of squares of large, nearly equal numbers would lose
// their variance.
class StdDevPutOp final : public StatPutOp {
 public:
  using StatPutOp::StatPutOp;

 private:
  void Put(int64_t value) override {
    int64_t offset, square;
    if (__builtin_sub_overflow(value, First(value), &offset)) offset = Bound(value < 0);
    if (__builtin_mul_overflow(offset, offset, &square)) square = Bound(false);
    Add("/sum", value);
    Add("/count", 1);
    Add("/sumoffset", offset);
    Add("/sumsqoffset", square);
  }
};

void Describe(OpSchema& schema) {
  schema.NumInputs(1)
      .NumOutputs(0)
      .Arg<std::string>("stat_name", "The name of the statistic. Default: the name of the input.")
      .Arg<int>("magnitude_expand",
                "(default 1) Sums are integers: values are multiplied by this, then truncated.")
      .Arg<bool>("bound",
                 "(default 0) 1: a value that does not fit int64 becomes the nearest one that "
                 "does, and NaN becomes 0. 0: both are errors.")
      .Arg<float>("default_value",
                  "The value if the input is empty. Default: an empty input is an error.")
      .Input(0, "value",
             "A tensor of numbers (any float or integer type). Only the first one counts.");
}

}  // namespace

REGISTER_CPU_OPERATOR(AveragePut, AveragePutOp);
REGISTER_CPU_OPERATOR(IncrementPut, IncrementPutOp);
REGISTER_CPU_OPERATOR(StdDevPut, StdDevPutOp);
OPERATOR_SCHEMA(AveragePut)
    .FillUsing(Describe)
    .SetDoc(
        "Adds a value to <stat_name>/stat_value/sum and 1 to <stat_name>/stat_value/count, which "
        "StatRegistryExport gives.")
    .CpuOnly(cpu_only::kWorkspace);
OPERATOR_SCHEMA(IncrementPut)
    .FillUsing(Describe)
    .SetDoc("Adds a value to <stat_name>/stat_value, which StatRegistryExport gives.")
    .CpuOnly(cpu_only::kWorkspace);
OPERATOR_SCHEMA(StdDevPut)
    .FillUsing(Describe)
    .SetDoc(
        "AveragePut, and adds the difference d between the value and the first one ever put to "
        "<stat_name>/stat_value/sumoffset, its square to <stat_name>/stat_value/sumsqoffset: the "
        "variance is (sumsqoffset - sumoffset^2 / count) / (count - 1).")
    .CpuOnly(cpu_only::kWorkspace);
SHOULD_NOT_DO_GRADIENT(AveragePut);
SHOULD_NOT_DO_GRADIENT(IncrementPut);
SHOULD_NOT_DO_GRADIENT(StdDevPut);

}  // namespace caffe2
