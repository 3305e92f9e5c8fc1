#include "caffe2/utils/simd.h"
#include "operators/common/element_type.h"

namespace caffe2 {
namespace {

template <typename T>
inline void ScaleRow(int64_t n, ArithmeticType<T> scale, const T* x, T* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = Narrow<T>(scale * Widen(x[i]));
}
CAFFE2_SIMD_CLONES void ScaleRow(int64_t n, float scale, const float* x, float* y) {
  ScaleRow<float>(n, scale, x, y);
}
CAFFE2_SIMD_CLONES void ScaleRow(int64_t n, float scale, const bfloat16* x, bfloat16* y) {
  ScaleRow<bfloat16>(n, scale, x, y);
}

template <class Context>
class ScaleOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  ScaleOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), scale_(this->template GetSingleArgument<float>("scale", 1.f)) {}

  bool RunOnDevice() override { return FloatTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    Tensor* Y = Output(0);
    Y->ResizeLike(X);
    const T* x = X.data<T>();
    T* y = Y->template mutable_data<T>();
    ParallelFor(X.numel(), kElementwiseGrain, [this, x, y](int64_t begin, int64_t end) {
      ScaleRow(end - begin, static_cast<ArithmeticType<T>>(scale_), x + begin, y + begin);
    });
    return true;
  }

 private:
  float scale_;
};

class GetScaleGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("Scale", "", std::vector<std::string>{GO(0)},
                             std::vector<std::string>{GI(0)});
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(Scale, ScaleOp<CPUContext>);
OPERATOR_SCHEMA(Scale)
    .NumInputs(1)
    .NumOutputs(1)
    .AllowInplace({{0, 0}})
    .IdenticalTypeAndShape()
    .SetDoc("Y = scale * X.")
    .Arg("scale", "Default 1.")
    .Input(0, "X", "A float, double, float16 or bfloat16 tensor of any shape.")
    .Output(0, "Y", "The scaled tensor.");
REGISTER_GRADIENT(Scale, GetScaleGradient);

}  // namespace caffe2
