// EnforceFinite, which fails where a tensor has an infinite element or NaN.
#include <cmath>

#include "caffe2/core/operator.h"
#include "operators/common/cpu_only.h"

namespace caffe2 {
namespace {

class EnforceFiniteOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    return TensorTypes<float, double>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    const T* x = X.data<T>();
    for (int64_t i = 0; i < X.numel(); ++i) {
      CAFFE_ENFORCE(std::isfinite(x[i]), "element ", i, " of ", debug_def().input(0), " ",
                    ShapeString(X.sizes()), " is ", x[i]);
    }
    return true;
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(EnforceFinite, EnforceFiniteOp);

OPERATOR_SCHEMA(EnforceFinite)
    .NumInputs(1)
    .NumOutputs(0)
    .SetDoc("Fails, naming the element, if one is infinite or NaN.")
    .Input(0, "X", "A tensor of float or double.")
    .CpuOnly(cpu_only::kEndsRun);
SHOULD_NOT_DO_GRADIENT(EnforceFinite);

}  // namespace caffe2
