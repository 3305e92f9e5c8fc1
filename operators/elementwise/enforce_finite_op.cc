// EnforceFinite, which fails where a tensor has an infinite element or NaN, and EnsureClipped.
#include <cmath>

#include "operators/common/portable_op.h"
#include "operators/optimizer/sparse_lp_regularizer_op.h"

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
REGISTER_CPU_OPERATOR(EnsureClipped, EnsureClippedOp<CPUContext>);

OPERATOR_SCHEMA(EnforceFinite)
    .NumInputs(1)
    .NumOutputs(0)
    .SetDoc("Fails, naming the element, if one is infinite or NaN.")
    .Input(0, "X", "A tensor of float or double.")
    .CpuOnly("it looks for values at which the run must end, which the host has to wait for");
OPERATOR_SCHEMA(EnsureClipped)
    .NumInputs(1, 3)
    .NumOutputs(1)
    .AllowInplace({{0, 0}})
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "Limits a parameter to [min, max], or only its rows that have a gradient, in place. NaN "
        "stays NaN.")
    .Arg("min", "(float) Lower bound. Default: the lowest float.")
    .Arg("max", "(float) Upper bound. Default: the highest float.")
    .Input(0, "param", "The float parameter.")
    .Input(1, "indices", "Optional: the rows, int32 or int64.")
    .Input(2, "grad", "Their gradient, which is not read.")
    .Output(0, "output_param", "The parameter within its bounds.");
SHOULD_NOT_DO_GRADIENT(EnforceFinite);
SHOULD_NOT_DO_GRADIENT(EnsureClipped);

}  // namespace caffe2
