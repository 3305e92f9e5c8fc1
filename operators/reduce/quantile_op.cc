// Quantile: the value that a share of all elements does not exceed.
#include <algorithm>
#include <cmath>

#include "caffe2/core/operator.h"
#include "operators/common/cpu_only.h"

namespace caffe2 {
namespace {

class QuantileOp final : public Operator<CPUContext> {
 public:
  QuantileOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        quantile_(GetSingleArgument<float>("quantile", -1.f)),
        abs_(GetSingleArgument<bool>("abs", true)) {
    CAFFE_ENFORCE(quantile_ >= 0 && quantile_ <= 1, "argument quantile must be from 0 to 1, found ",
                  quantile_);
  }
  bool RunOnDevice() override {
    return TensorTypes<float, double>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    std::vector<T> values;
    for (int i = 0; i < InputSize(); ++i) {
      const T* x = Input(i).data<T>();
      values.insert(values.end(), x, x + Input(i).numel());
    }
    CAFFE_ENFORCE(!values.empty(), "Quantile needs at least one element");
    for (T& value : values) {
      CAFFE_ENFORCE(!std::isnan(value), "the inputs of Quantile must not contain NaN");
      if (abs_) value = std::abs(value);
    }
    const auto n = static_cast<int64_t>(values.size());
    // In float: in double, the product of 10 and the float next to 0.1 would be above 1.
    const auto rank = static_cast<int64_t>(std::ceil(static_cast<float>(n) * quantile_));
    const auto place = values.begin() + std::clamp<int64_t>(rank, 1, n) - 1;
    std::nth_element(values.begin(), place, values.end());
    Output(0)->Resize(1);
    *Output(0)->mutable_data<T>() = *place;
    return true;
  }

 private:
  float quantile_;
  bool abs_;
};

}  // namespace

REGISTER_CPU_OPERATOR(Quantile, QuantileOp);
OPERATOR_SCHEMA(Quantile)
    .NumInputs(1, OpSchema::kUnlimited)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{CreateTensorShape({1}, in[0].data_type())};
    })
    .SetDoc(
        "The smallest element of all inputs such that at least the share `quantile` of the "
        "elements is not larger. It is exact.")
    .Arg<float>("quantile", "(in [0, 1]) The share.", true)
    .Arg<bool>("abs", "(default 1) Of absolute values.")
    .Arg<float>("tol", "The tolerance of Caffe2's search; not needed.")
    .Input(0, "X1, X2, ...", "Float or double tensors of any shape, all of one type.")
    .Output(0, "quantile_value", "One element.")
    .CpuOnly(cpu_only::kMeasures);
NO_GRADIENT(Quantile);

}  // namespace caffe2
