// SquareRootDivide: rows divided by the square roots of numbers.
#include <cmath>

#include "caffe2/core/operator.h"
#include "operators/gradient_rule.h"

namespace caffe2 {
namespace {

class SquareRootDivideOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    return TensorTypes<float, int32_t, int64_t>::Dispatch(this, Input(1).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &X = Input(0), &S = Input(1);
    CAFFE_ENFORCE(X.dim() >= 1 && S.numel() == X.size(0), "scale ", ShapeString(S.sizes()),
                  " for the rows of ", ShapeString(X.sizes()));
    const float* x = X.data<float>();
    const T* scale = S.data<T>();
    Output(0)->ResizeLike(X);
    float* y = Output(0)->mutable_data<float>();
    const int64_t width = X.size_from_dim(1);
    for (int64_t i = 0; i < X.size(0); ++i) {
      const float factor =
          scale[i] > 0 ? static_cast<float>(1 / std::sqrt(static_cast<double>(scale[i]))) : 1.f;
      for (int64_t j = i * width; j < (i + 1) * width; ++j) y[j] = x[j] * factor;
    }
    return true;
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(SquareRootDivide, SquareRootDivideOp);
OPERATOR_SCHEMA(SquareRootDivide)
    .NumInputs(2)
    .NumOutputs(1)
    .AllowInplace({{0, 0}})
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("Divides each row by the square root of its scale; where that is not above 0, by 1.")
    .Input(0, "data", "A float tensor of at least one axis.")
    .Input(1, "scale", "Float, int32 or int64: one for each row; it gets no gradient.")
    .Output(0, "output", "The result, shaped like the data; may overwrite it.");
REGISTER_GRADIENT(SquareRootDivide, GradientRule<"SquareRootDivide: GO0 I1 -> GI0">);

}  // namespace caffe2
