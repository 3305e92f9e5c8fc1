#include "operators/loss/cross_entropy_op.h"

#include <algorithm>
#include <cmath>

#include "operators/loss/index_labels.h"
#include "operators/loss/label_check.h"

namespace caffe2 {
namespace {

struct Sizes {
  int64_t n = 0;  // rows
  int64_t d = 0;  // classes
};

// The rows (first axis) and classes (other axes) of X. A vector is one row.
Sizes RowsOf(const Tensor& x) {
  CAFFE_ENFORCE(x.dim() >= 1, "the probabilities must have an axis of classes, found a scalar");
  return x.dim() == 1 ? Sizes{1, x.size(0)} : Sizes{x.size(0), x.size_from_dim(1)};
}

void CheckRowGradient(const Tensor& dy, int64_t n) {
  CAFFE_ENFORCE(dy.numel() == n, "the gradient must have one value for each of the ", n,
                " rows, found shape ", ShapeString(dy.sizes()));
}

}  // namespace

int64_t CheckIndexLabels(const Tensor& x, const Tensor& labels) {
  const Sizes s = RowsOf(x);
  CAFFE_ENFORCE(labels.numel() == s.n && (labels.dim() <= 1 || labels.size_from_dim(1) == 1),
                "label must have one class index for each row: label has shape ",
                ShapeString(labels.sizes()), ", the probabilities ", ShapeString(x.sizes()));
  return s.n;
}

int64_t CheckProbabilityLabels(const Tensor& x, const Tensor& labels) {
  CAFFE_ENFORCE(labels.sizes() == x.sizes(),
                "label must have the shape of the probabilities: label has shape ",
                ShapeString(labels.sizes()), ", the probabilities ", ShapeString(x.sizes()));
  return RowsOf(x).n;
}

template <>
bool LabelCrossEntropyOp<CPUContext>::RunOnDevice() {
  const Tensor &x = Input(0), &labels = Input(1);
  CheckIndexLabels(x, labels);
  const Sizes s = RowsOf(x);
  const float* x_data = x.data<float>();
  Tensor narrowed(CPU);
  const int* label_data = IndexLabels(labels, &narrowed, &context_);
  Tensor* y = Output(0);
  y->Resize(s.n);
  float* y_data = y->mutable_data<float>();
  for (int64_t i = 0; i < s.n; ++i) {
    const int64_t label = CheckLabel(label_data[i], i, s.d);
    y_data[i] = -std::log(std::max(x_data[i * s.d + label], kMinProbability));
  }
  return true;
}

template <>
bool LabelCrossEntropyGradientOp<CPUContext>::RunOnDevice() {
  const Tensor &x = Input(0), &labels = Input(1), &dy = Input(2);
  CheckIndexLabels(x, labels);
  const Sizes s = RowsOf(x);
  CheckRowGradient(dy, s.n);
  const float *x_data = x.data<float>(), *dy_data = dy.data<float>();
  Tensor narrowed(CPU);
  const int* label_data = IndexLabels(labels, &narrowed, &context_);
  Tensor* dx = Output(0);
  dx->ResizeLike(x);
  float* dx_data = dx->mutable_data<float>();
  std::fill_n(dx_data, dx->numel(), 0.f);
  for (int64_t i = 0; i < s.n; ++i) {
    const int64_t at = i * s.d + CheckLabel(label_data[i], i, s.d);
    dx_data[at] = -dy_data[i] / std::max(x_data[at], kMinProbability);
  }
  return true;
}

REGISTER_CPU_OPERATOR(LabelCrossEntropy, LabelCrossEntropyOp<CPUContext>);
REGISTER_CPU_OPERATOR(LabelCrossEntropyGradient, LabelCrossEntropyGradientOp<CPUContext>);
REGISTER_CPU_OPERATOR(CrossEntropy, CrossEntropyOp<CPUContext>);
REGISTER_CPU_OPERATOR(CrossEntropyGradient, CrossEntropyGradientOp<CPUContext>);
REGISTER_CPU_OPERATOR(MakeTwoClass, MakeTwoClassOp<CPUContext>);
REGISTER_CPU_OPERATOR(MakeTwoClassGradient, MakeTwoClassGradientOp<CPUContext>);

namespace {

std::vector<TensorShape> InferRows(const OperatorDef&, const std::vector<TensorShape>& in) {
  CAFFE_ENFORCE(in[0].dims_size() >= 1,
                "the probabilities must have an axis of classes, found a scalar");
  return {CreateTensorShape({in[0].dims_size() == 1 ? 1 : in[0].dims(0)}, in[0].data_type())};
}

void ForwardSchema(OpSchema& schema) {
  schema.NumInputs(2)
      .NumOutputs(1)
      .TensorInferenceFunction(InferRows)
      .Input(0, "X",
             "Probabilities [N, D], float (CrossEntropy: float16 and bfloat16 too); a vector is "
             "one row.")
      .Output(0, "Y", "A vector of N losses, of X's type.");
}

void GradientSchema(OpSchema& schema) {
  schema.NumInputs(3)
      .NumOutputs(1)
      .IdenticalTypeAndShapeOfInput(0)
      .Input(0, "X", "As in the forward operator.")
      .Input(1, "label", "As in the forward operator.")
      .Input(2, "dY", "The gradient of Y.")
      .Output(0, "dX", "The gradient of X, shaped like it.");
}

class GetCrossEntropyGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef(Def().type() + "Gradient", "", std::vector{I(0), I(1), GO(0)},
                             std::vector{GI(0)});
  }
};

class GetMakeTwoClassGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("MakeTwoClassGradient", "", std::vector{GO(0)}, std::vector{GI(0)});
  }
};

}  // namespace

OPERATOR_SCHEMA(LabelCrossEntropy)
    .FillUsing(ForwardSchema)
    .SetDoc(
        "Y[i] = -log X[i, label[i]]. Probabilities below 1e-20 count as 1e-20. A label out of "
        "range is an error.")
    .Input(1, "label", "N class indices, int32 or int64, [N] or [N, 1].");
OPERATOR_SCHEMA(LabelCrossEntropyGradient)
    .FillUsing(GradientSchema)
    .SetDoc("The gradient of LabelCrossEntropy: -dY[i] / X[i, label[i]], zero elsewhere.");
OPERATOR_SCHEMA(CrossEntropy)
    .FillUsing(ForwardSchema)
    .SetDoc("Y[i] = -sum_j label[i, j] log X[i, j]. Probabilities below 1e-20 count as 1e-20.")
    .Input(1, "label", "Probabilities, of X's shape and type.");
OPERATOR_SCHEMA(CrossEntropyGradient)
    .FillUsing(GradientSchema)
    .SetDoc("The gradient of CrossEntropy with respect to X: -dY[i] label[i, j] / X[i, j].");

OPERATOR_SCHEMA(MakeTwoClass)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      TensorShape out = in[0];
      out.add_dims(2);
      return std::vector<TensorShape>{out};
    })
    .SetDoc(
        "Converts the probability of one class to the probabilities of two classes: Y[..., 0] = 1 "
        "- X, Y[..., 1] = X.")
    .Input(0, "X", "Probabilities of any shape: float, float16 or bfloat16.")
    .Output(0, "Y", "The shape of X and one more axis of size 2.");
OPERATOR_SCHEMA(MakeTwoClassGradient)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      CAFFE_ENFORCE(in[0].dims_size() >= 1,
                    "the probabilities must have an axis of classes, found a scalar");
      TensorShape out = in[0];
      out.mutable_dims()->RemoveLast();
      return std::vector<TensorShape>{out};
    })
    .SetDoc("The gradient of MakeTwoClass: dX = dY[..., 1] - dY[..., 0].")
    .Input(0, "dY", "The gradient of Y.")
    .Output(0, "dX", "The gradient of X.");

REGISTER_GRADIENT(LabelCrossEntropy, GetCrossEntropyGradient);
REGISTER_GRADIENT(CrossEntropy, GetCrossEntropyGradient);
REGISTER_GRADIENT(MakeTwoClass, GetMakeTwoClassGradient);

}  // namespace caffe2
