// ElementwiseLinear: Y = X * w + b with a factor and an offset for each column.
#include "operators/element_type.h"
#include "operators/gradient_rule.h"

namespace caffe2 {
namespace {

// X as an N x D matrix, split at the argument `axis`.
struct MatrixSize {
  int64_t n = 0, d = 0;
};

template <class Context>
class ElementwiseLinearBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  ElementwiseLinearBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), axis_(this->template GetSingleArgument<int>("axis", 1)) {}

 protected:
  MatrixSize CheckSizes(const Tensor& X, const Tensor& w) const {
    const int axis = X.canonical_axis_index(axis_);
    const MatrixSize size{.n = X.size_to_dim(axis), .d = X.size_from_dim(axis)};
    CAFFE_ENFORCE(w.dim() == 1 && w.size(0) == size.d, "w ", ShapeString(w.sizes()), " for X ",
                  ShapeString(X.sizes()), " must have ", size.d, " elements");
    return size;
  }

 private:
  int axis_;
};

template <class Context>
class ElementwiseLinearOp final : public ElementwiseLinearBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using ElementwiseLinearBase<Context>::ElementwiseLinearBase;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &W = Input(1), &B = Input(2);
    const MatrixSize size = this->CheckSizes(X, W);
    CAFFE_ENFORCE(B.sizes() == W.sizes(), "w ", ShapeString(W.sizes()), " and b ",
                  ShapeString(B.sizes()), " must have one shape");
    const float *x = X.data<float>(), *w = W.data<float>(), *b = B.data<float>();
    Tensor* Y = Output(0);
    Y->ResizeLike(X);
    float* y = Y->template mutable_data<float>();
    const int64_t d = size.d;
    for (int64_t i = 0; i < size.n; ++i) {
      for (int64_t j = 0; j < d; ++j) y[i * d + j] = x[i * d + j] * w[j] + b[j];
    }
    return true;
  }
};

// dX = dY * w, dw = sum over rows of dY * X, db = sum over rows of dY.
template <class Context>
class ElementwiseLinearGradientOp final : public ElementwiseLinearBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using ElementwiseLinearBase<Context>::ElementwiseLinearBase;
  bool RunOnDevice() override {
    const Tensor &dY = Input(0), &X = Input(1), &W = Input(2);
    const MatrixSize size = this->CheckSizes(X, W);
    CAFFE_ENFORCE(dY.sizes() == X.sizes(), "gradient ", ShapeString(dY.sizes()), " for X ",
                  ShapeString(X.sizes()));
    const float *dy = dY.data<float>(), *x = X.data<float>(), *w = W.data<float>();
    Output(0)->ResizeLike(X);
    Output(1)->ResizeLike(W);
    Output(2)->ResizeLike(W);
    float* dx = Output(0)->template mutable_data<float>();
    float* dw = Output(1)->template mutable_data<float>();
    float* db = Output(2)->template mutable_data<float>();
    const int64_t d = size.d;
    std::fill_n(dw, d, 0.f);
    std::fill_n(db, d, 0.f);
    for (int64_t i = 0; i < size.n; ++i) {
      for (int64_t j = 0; j < d; ++j) {
        const float g = dy[i * d + j];
        dx[i * d + j] = g * w[j];
        dw[j] += g * x[i * d + j];
        db[j] += g;
      }
    }
    return true;
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(ElementwiseLinear, ElementwiseLinearOp<CPUContext>);
REGISTER_CPU_OPERATOR(ElementwiseLinearGradient, ElementwiseLinearGradientOp<CPUContext>);

OPERATOR_SCHEMA(ElementwiseLinear)
    .NumInputs(3)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("Y[i, j] = X[i, j] * w[j] + b[j]: a factor and an offset for each column.")
    .Arg("axis", "(int, default 1) The rows are the axes before this one, the columns the others.")
    .Input(0, "X", "A float tensor, seen as an N x D matrix.")
    .Input(1, "w", "D float factors.")
    .Input(2, "b", "D float offsets.")
    .Output(0, "Y", "The result, shaped like X.");
OPERATOR_SCHEMA(ElementwiseLinearGradient)
    .NumInputs(3)
    .NumOutputs(3)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in[1], in[2], in[2]};
    })
    .SetDoc("The gradients of ElementwiseLinear.")
    .Arg("axis", "As in the forward operator.")
    .Input(0, "dY", "The gradient of the output.")
    .Input(1, "X", "As in the forward operator.")
    .Input(2, "w", "As in the forward operator.")
    .Output(0, "dX", "The gradient of X.")
    .Output(1, "dw", "The gradient of w.")
    .Output(2, "db", "The gradient of b.");
REGISTER_GRADIENT(ElementwiseLinear, GradientRule<"GO0 I0 I1 -> GI0 GI1 GI2">);

}  // namespace caffe2
