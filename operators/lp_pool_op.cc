// LpPool and its gradient: the p-norm of every window, over averages of |x|^p.
#include <cmath>

#include "caffe2/utils/parallel.h"
#include "operators/gradient_rule.h"
#include "operators/pool_op.h"

namespace caffe2 {
namespace {

// What both operators share.
class LpPoolBase : public PoolOpBase<CPUContext> {
 public:
  LpPoolBase(const OperatorDef& def, Workspace* ws)
      : PoolOpBase<CPUContext>(def, ws), p_(GetSingleArgument<float>("p", 2.f)) {
    CAFFE_ENFORCE(p_ > 0 && std::isfinite(p_), "the argument p is ", p_);
  }

 protected:
  // Elements of a window: its average times them is its sum, pads being 0.
  float PrepareWindows(const Tensor& x) {
    Prepare(x);
    shape_.count_include_pad = true;
    return static_cast<float>(shape_.kernel[0] * shape_.kernel[1] * shape_.kernel[2]);
  }
  template <typename Body>
  static void ForEach(int64_t n, const Body& body) {
    ParallelFor(n, 1 << 12, [&body](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) body(i);
    });
  }

  const float p_;
  std::vector<float> buffer_;
};

class LpPoolOp final : public LpPoolBase {
 public:
  using LpPoolBase::LpPoolBase;
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const float size = PrepareWindows(X);
    const float* x = X.data<float>();
    buffer_.resize(X.numel());
    ForEach(X.numel(), [&](int64_t i) { buffer_[i] = std::pow(std::fabs(x[i]), p_); });
    Output(0)->Resize(y_dims_);
    float* y = Output(0)->mutable_data<float>();
    Pool<float>(PoolKind::kAverage, shape_, buffer_.data(), y);
    ForEach(Output(0)->numel(), [&](int64_t i) { y[i] = std::pow(y[i] * size, 1 / p_); });
    return true;
  }
};

// dX = x |x|^(p-2) * (the sum over its windows of dY y^(1-p)); 0 where the norm or x is 0.
class LpPoolGradientOp final : public LpPoolBase {
 public:
  using LpPoolBase::LpPoolBase;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &Y = Input(1), &dY = Input(2);
    const float size = PrepareWindows(X);
    CAFFE_ENFORCE(Y.sizes() == y_dims_ && dY.sizes() == y_dims_, "Y and dY have shapes ",
                  ShapeString(Y.sizes()), " and ", ShapeString(dY.sizes()), ", expected ",
                  ShapeString(y_dims_));
    const float *x = X.data<float>(), *y = Y.data<float>(), *dy = dY.data<float>();
    buffer_.resize(Y.numel());
    ForEach(Y.numel(), [&](int64_t i) {
      buffer_[i] = y[i] > 0 ? dy[i] * size * std::pow(y[i], 1 - p_) : 0.f;
    });
    Output(0)->ResizeLike(X);
    float* dx = Output(0)->mutable_data<float>();
    PoolGradient<float>(PoolKind::kAverage, shape_, nullptr, nullptr, buffer_.data(), dx);
    ForEach(X.numel(), [&](int64_t i) {
      dx[i] *= x[i] == 0 ? 0.f : std::copysign(std::pow(std::fabs(x[i]), p_ - 1), x[i]);
    });
    return true;
  }
};

void Arguments(OpSchema& schema) {
  schema.FillUsing(DescribeWindow)
      .Arg("global_pooling", "1: the window is the whole image. Default 0.")
      .Arg("p", "(float > 0, default 2) The norm.");
}

}  // namespace

REGISTER_CPU_OPERATOR(LpPool, LpPoolOp);
REGISTER_CPU_OPERATOR(LpPoolGradient, LpPoolGradientOp);
OPERATOR_SCHEMA(LpPool)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction(InferPool)
    .FillUsing(Arguments)
    .SetDoc("The p-norm of every window: (sum of |x|^p)^(1/p). Pads count as 0.")
    .Input(0, "X", "A float image N x C x H x W (NCHW) or N x H x W x C (NHWC).")
    .Output(0, "Y",
            "N x C x H' x W' or N x H' x W' x C, with H' = (H + pads - kernel) / stride + 1.");
OPERATOR_SCHEMA(LpPoolGradient)
    .NumInputs(3)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .FillUsing(Arguments)
    .SetDoc("The gradient of LpPool; 0 where the norm is 0.")
    .Input(0, "X", "The forward operator's input.")
    .Input(1, "Y", "The forward operator's output.")
    .Input(2, "dY", "Gradient of Y.")
    .Output(0, "dX", "Gradient of X.");
REGISTER_GRADIENT(LpPool, GradientRule<"I0 O0 GO0 -> GI0">);

}  // namespace caffe2
