// Normalize, NormalizeL1, LpNorm.
#include "operators/normalize_op.h"

#include <cmath>

#include "operators/gradient_rule.h"

namespace caffe2 {
namespace {

class LpNormBase : public Operator<CPUContext> {
 public:
  LpNormBase(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        p_(GetSingleArgument<int>("p", 2)),
        average_(GetSingleArgument<bool>("average", false)) {
    CAFFE_ENFORCE(p_ == 1 || p_ == 2, "the argument p must be 1 or 2, not ", p_);
  }

 protected:
  double Divisor(const Tensor& X) const {
    return average_ ? std::max<double>(1, static_cast<double>(X.numel())) : 1;
  }
  int p_;
  bool average_;
};

class LpNormOp final : public LpNormBase {
 public:
  using LpNormBase::LpNormBase;
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const float* x = X.data<float>();
    double sum = 0;
    for (int64_t i = 0; i < X.numel(); ++i) {
      sum += p_ == 1 ? std::fabs(double{x[i]}) : double{x[i]} * x[i];
    }
    Output(0)->Resize(1);
    *Output(0)->mutable_data<float>() = static_cast<float>(sum / Divisor(X));
    return true;
  }
};

// dX = sign(X) dZ for p = 1, 2 X dZ for p = 2
class LpNormGradientOp final : public LpNormBase {
 public:
  using LpNormBase::LpNormBase;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &dZ = Input(1);
    CAFFE_ENFORCE_EQ(dZ.numel(), 1, "elements of the gradient");
    const auto factor = static_cast<float>(*dZ.data<float>() / Divisor(X));
    const float* x = X.data<float>();
    Tensor* dX = Output(0);
    dX->ResizeLike(X);
    float* dx = dX->mutable_data<float>();
    for (int64_t i = 0; i < X.numel(); ++i) {
      const auto sign = static_cast<float>((x[i] > 0) - (x[i] < 0));
      dx[i] = factor * (p_ == 1 ? sign : 2 * x[i]);
    }
    return true;
  }
};

void DescribeNormalize(OpSchema& schema) {
  schema.NumInputs(1)
      .NumOutputs(1)
      .IdenticalTypeAndShape()
      .Arg("axis", "(int, default -1) The axis along which the vectors lie.")
      .Input(0, "X", "A tensor of float, float16 or bfloat16.")
      .Output(0, "Y", "The result, shaped like X.");
}

void DescribeLpNorm(OpSchema& schema) {
  schema.Arg("p", "(int, default 2) 1: the sum of absolute values; 2: the sum of squares.")
      .Arg("average", "(bool, default 0) 1: divides by the number of elements.");
}

}  // namespace

REGISTER_CPU_OPERATOR(Normalize, NormalizeOp<CPUContext, L2Norm>);
REGISTER_CPU_OPERATOR(NormalizeL1, NormalizeOp<CPUContext, L1Norm>);
REGISTER_CPU_OPERATOR(NormalizeGradient, NormalizeGradientOp<CPUContext>);
REGISTER_CPU_OPERATOR(LpNorm, LpNormOp);
REGISTER_CPU_OPERATOR(LpNormGradient, LpNormGradientOp);

OPERATOR_SCHEMA(Normalize)
    .FillUsing(DescribeNormalize)
    .SetDoc("Divides the vectors along an axis by their Euclidean norm (at least 1e-12).");
OPERATOR_SCHEMA(NormalizeL1)
    .FillUsing(DescribeNormalize)
    .SetDoc("Divides the vectors along an axis by the sum of their absolute values; zeros stay.");
OPERATOR_SCHEMA(NormalizeGradient)
    .NumInputs(2)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("The gradient of Normalize: dX = (dY - Y (Y . dY)) / |X|.")
    .Arg("axis", "As in the forward operator.")
    .Input(0, "X", "The input of the forward operator.")
    .Input(1, "dY", "The gradient of its output.")
    .Output(0, "dX", "The gradient of X.");
OPERATOR_SCHEMA(LpNorm)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>&) {
      return std::vector<TensorShape>{CreateTensorShape({1}, TensorProto::FLOAT)};
    })
    .FillUsing(DescribeLpNorm)
    .SetDoc("The sum of |X|^p over all elements; no root is taken.")
    .Input(0, "X", "A float tensor of any shape.")
    .Output(0, "Z", "One float.");
OPERATOR_SCHEMA(LpNormGradient)
    .NumInputs(2)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .FillUsing(DescribeLpNorm)
    .SetDoc("The gradient of LpNorm.")
    .Input(0, "X", "The input of the forward operator.")
    .Input(1, "dZ", "The gradient of its output.")
    .Output(0, "dX", "The gradient of X.");
REGISTER_GRADIENT(Normalize, GradientRule<"I0 GO0 -> GI0">);
REGISTER_GRADIENT(LpNorm, GradientRule<"I0 GO0 -> GI0">);
SHOULD_NOT_DO_GRADIENT(NormalizeL1);

}  // namespace caffe2
