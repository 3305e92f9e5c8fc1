// DotProductWithPadding: products of pairs of rows of different length.
#include "operators/element_type.h"
#include "operators/gradient_rule.h"

namespace caffe2 {
namespace {

// How the rows of X and Y, of lengths dx and dy, pair up: element j of the longer one meets
// element j (or, replicated, j modulo the shorter length) of the shorter one, or the pad.
template <class Context>
class PaddedProductBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  PaddedProductBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        pad_(this->template GetSingleArgument<float>("pad_value", 0.f)),
        replicate_(this->template GetSingleArgument<bool>("replicate", false)) {}

 protected:
  struct Size {
    int64_t rows = 0, longer = 0, shorter = 0;
    bool x_longer = false;
  };
  Size CheckSizes(const Tensor& X, const Tensor& Y) const {
    CAFFE_ENFORCE(X.dim() == Y.dim() && X.dim() >= 1 && X.size(0) == Y.size(0), "X ",
                  ShapeString(X.sizes()), " and Y ", ShapeString(Y.sizes()),
                  " must have as many rows");
    const int64_t dx = X.size_from_dim(1), dy = Y.size_from_dim(1);
    const Size size{X.size(0), std::max(dx, dy), std::min(dx, dy), dx >= dy};
    CAFFE_ENFORCE(!replicate_ || (size.shorter > 0 && size.longer % size.shorter == 0), "rows of ",
                  size.shorter, " do not repeat to rows of ", size.longer);
    return size;
  }
  // The element of the shorter row that meets element j of the longer one; -1 for the pad.
  int64_t Partner(const Size& size, int64_t j) const {
    if (j < size.shorter) return j;
    return replicate_ ? j % size.shorter : -1;
  }

  float pad_;
  bool replicate_;
};

template <class Context>
class DotProductWithPaddingOp final : public PaddedProductBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using PaddedProductBase<Context>::PaddedProductBase;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &Y = Input(1);
    const auto size = this->CheckSizes(X, Y);
    const float* longer = (size.x_longer ? X : Y).template data<float>();
    const float* shorter = (size.x_longer ? Y : X).template data<float>();
    Tensor* Z = Output(0);
    Z->Resize(size.rows);
    float* z = Z->template mutable_data<float>();
    for (int64_t i = 0; i < size.rows; ++i, longer += size.longer, shorter += size.shorter) {
      double sum = 0;
      for (int64_t j = 0; j < size.longer; ++j) {
        const int64_t partner = this->Partner(size, j);
        sum += double{longer[j]} * (partner < 0 ? this->pad_ : shorter[partner]);
      }
      z[i] = static_cast<float>(sum);
    }
    return true;
  }
};

template <class Context>
class DotProductWithPaddingGradientOp final : public PaddedProductBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using PaddedProductBase<Context>::PaddedProductBase;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &Y = Input(1), &dZ = Input(2);
    const auto size = this->CheckSizes(X, Y);
    CAFFE_ENFORCE_EQ(dZ.numel(), size.rows, "gradient ", ShapeString(dZ.sizes()), " for X ",
                     ShapeString(X.sizes()));
    const float* longer = (size.x_longer ? X : Y).template data<float>();
    const float* shorter = (size.x_longer ? Y : X).template data<float>();
    const float* dz = dZ.data<float>();
    Output(0)->ResizeLike(X);
    Output(1)->ResizeLike(Y);
    float* d_longer = Output(size.x_longer ? 0 : 1)->template mutable_data<float>();
    float* d_shorter = Output(size.x_longer ? 1 : 0)->template mutable_data<float>();
    std::fill_n(d_shorter, size.rows * size.shorter, 0.f);
    for (int64_t i = 0; i < size.rows; ++i) {
      for (int64_t j = 0; j < size.longer; ++j) {
        const int64_t partner = this->Partner(size, j);
        d_longer[j] = dz[i] * (partner < 0 ? this->pad_ : shorter[partner]);
        if (partner >= 0) d_shorter[partner] += dz[i] * longer[j];
      }
      longer += size.longer, d_longer += size.longer;
      shorter += size.shorter, d_shorter += size.shorter;
    }
    return true;
  }
};

void Arguments(OpSchema& schema) {
  schema.Arg("pad_value", "(float, default 0) What the missing elements of the shorter rows are.")
      .Arg("replicate", "(bool, default 0) 1: the shorter rows are repeated instead.");
}

}  // namespace

REGISTER_CPU_OPERATOR(DotProductWithPadding, DotProductWithPaddingOp<CPUContext>);
REGISTER_CPU_OPERATOR(DotProductWithPaddingGradient, DotProductWithPaddingGradientOp<CPUContext>);
OPERATOR_SCHEMA(DotProductWithPadding)
    .NumInputs(2)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{
          CreateTensorShape({in[0].dims_size() == 0 ? 1 : in[0].dims(0)}, in[0].data_type())};
    })
    .FillUsing(Arguments)
    .SetDoc(
        "Z[i] = the sum of X * Y over row i, where the shorter of the two rows is padded, or "
        "repeated, to the length of the other.")
    .Input(0, "X", "A float tensor [N, ...].")
    .Input(1, "Y", "Another with as many rows.")
    .Output(0, "Z", "A float vector of N products.");
OPERATOR_SCHEMA(DotProductWithPaddingGradient)
    .NumInputs(3)
    .NumOutputs(2)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in[0], in[1]};
    })
    .FillUsing(Arguments)
    .SetDoc("The gradients of DotProductWithPadding.")
    .Input(0, "X", "As in the forward operator.")
    .Input(1, "Y", "As in the forward operator.")
    .Input(2, "dZ", "The gradient of the output.")
    .Output(0, "dX", "The gradient of X.")
    .Output(1, "dY", "The gradient of Y.");
REGISTER_GRADIENT(DotProductWithPadding, GradientRule<"I0 I1 GO0 -> GI0 GI1">);

}  // namespace caffe2
