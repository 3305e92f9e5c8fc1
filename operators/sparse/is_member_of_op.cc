// IsMemberOf: tells which elements are in a set of values.
#include <unordered_set>

#include "operators/common/cpu_only.h"
#include "operators/common/element_type.h"

namespace caffe2 {
namespace {

template <class Context>
class IsMemberOfOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  IsMemberOfOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), has_values_(this->HasArgument("value")) {
    CAFFE_ENFORCE(has_values_ != (InputSize() == 2),
                  "the values must come either from the argument value or from input 1, not from "
                  "both or none");
  }
  bool RunOnDevice() override {
    return TensorTypes<int32_t, int64_t, bool, std::string>::Dispatch(this, Input(0).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    const std::unordered_set<T> values = Values<T>();
    const T* x = X.data<T>();
    Tensor* Y = Output(0);
    Y->ResizeLike(X);
    bool* y = Y->template mutable_data<bool>();
    for (int64_t i = 0; i < X.numel(); ++i) y[i] = values.count(x[i]) != 0;
    return true;
  }

 private:
  template <typename T>
  std::unordered_set<T> Values() const {
    if (has_values_) {
      const std::vector<T> values = this->template GetRepeatedArgument<T>("value");
      return std::unordered_set<T>(values.begin(), values.end());
    }
    const Tensor& values = Input(1);
    const T* data = values.data<T>();
    return std::unordered_set<T>(data, data + values.numel());  // braces would list two bools
  }

  bool has_values_;
};

}  // namespace

REGISTER_CPU_OPERATOR(IsMemberOf, IsMemberOfOp<CPUContext>);
OPERATOR_SCHEMA(IsMemberOf)
    .NumInputs(1, 2)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{CreateTensorShape(GetDimsVector(in[0]), TensorProto::BOOL)};
    })
    .SetDoc("Tells for each element of X whether it is in a set of values.")
    .Arg("value", "The values, a list of X's element type; cannot be used with input 1.")
    .Arg("dtype", "Accepted for old nets: the type of the values is X's.")
    .Input(0, "X", "int32, int64, bool or string, of any shape.")
    .Input(1, "values", "Optional: the values, a tensor of X's type.")
    .Output(0, "is_member", "Bool, shaped like X.")
    .CpuOnly(cpu_only::kRecordFeatures);
SHOULD_NOT_DO_GRADIENT(IsMemberOf);

}  // namespace caffe2
