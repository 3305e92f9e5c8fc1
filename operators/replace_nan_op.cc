// ReplaceNaN.
#include <cmath>

#include "caffe2/core/operator.h"

namespace caffe2 {
namespace {

class ReplaceNaNOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    return TensorTypes<float, double>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    const auto value = static_cast<T>(GetSingleArgument<float>("value", 0.f));
    const T* x = Input(0).data<T>();
    Output(0)->ResizeLike(Input(0));
    T* y = Output(0)->mutable_data<T>();
    for (int64_t i = 0; i < Input(0).numel(); ++i) y[i] = std::isnan(x[i]) ? value : x[i];
    return true;
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(ReplaceNaN, ReplaceNaNOp);
OPERATOR_SCHEMA(ReplaceNaN)
    .NumInputs(1)
    .NumOutputs(1)
    .AllowInplace({{0, 0}})
    .IdenticalTypeAndShape()
    .SetDoc("Writes a value in place of each NaN.")
    .Arg("value", "(float, default 0) The value.")
    .Input(0, "input", "A float or double tensor.")
    .Output(0, "output", "The same, without NaN.");
SHOULD_NOT_DO_GRADIENT(ReplaceNaN);

}  // namespace caffe2
