#include "operators/cross_entropy_op.h"

#include <algorithm>
#include <cmath>

#include "operators/label_check.h"

namespace caffe2 {
namespace {

constexpr float kSmallest = 1e-20f;  // probabilities below count as this

struct Sizes {
  int64_t n = 0;  // rows
  int64_t d = 0;  // classes
};

// Rows and classes of X: its first axis and all others; a vector is one row.
Sizes RowsOf(const Tensor& x) {
  CAFFE_ENFORCE_GE(x.dim(), 1, "probabilities must have an axis of classes");
  return x.dim() == 1 ? Sizes{1, x.size(0)} : Sizes{x.size(0), x.size_from_dim(1)};
}

Sizes CheckDistributionLabels(const Tensor& x, const Tensor& labels) {
  CAFFE_ENFORCE(labels.sizes() == x.sizes(), "label ", ShapeString(labels.sizes()),
                " for probabilities ", ShapeString(x.sizes()), ": the shapes must agree");
  return RowsOf(x);
}

void CheckRowGradient(const Tensor& dy, int64_t n) {
  CAFFE_ENFORCE_EQ(dy.numel(), n, "gradient ", ShapeString(dy.sizes()), ": one value per row");
}

}  // namespace

int64_t CheckIndexLabels(const Tensor& x, const Tensor& labels) {
  const Sizes s = RowsOf(x);
  CAFFE_ENFORCE(labels.numel() == s.n && (labels.dim() <= 1 || labels.size_from_dim(1) == 1),
                "label ", ShapeString(labels.sizes()), " for probabilities ",
                ShapeString(x.sizes()), ": one class index per row is needed");
  return s.n;
}

template <>
bool LabelCrossEntropyOp<CPUContext>::RunOnDevice() {
  const Tensor &x = Input(0), &labels = Input(1);
  CheckIndexLabels(x, labels);
  const Sizes s = RowsOf(x);
  const float* x_data = x.data<float>();
  const int* label_data = labels.data<int>();
  Tensor* y = Output(0);
  y->Resize(s.n);
  float* y_data = y->mutable_data<float>();
  for (int64_t i = 0; i < s.n; ++i) {
    const int64_t label = CheckLabel(label_data[i], i, s.d);
    y_data[i] = -std::log(std::max(x_data[i * s.d + label], kSmallest));
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
  const int* label_data = labels.data<int>();
  Tensor* dx = Output(0);
  dx->ResizeLike(x);
  float* dx_data = dx->mutable_data<float>();
  std::fill_n(dx_data, dx->numel(), 0.f);
  for (int64_t i = 0; i < s.n; ++i) {
    const int64_t at = i * s.d + CheckLabel(label_data[i], i, s.d);
    dx_data[at] = -dy_data[i] / std::max(x_data[at], kSmallest);
  }
  return true;
}

template <>
bool CrossEntropyOp<CPUContext>::RunOnDevice() {
  const Tensor &x = Input(0), &labels = Input(1);
  const Sizes s = CheckDistributionLabels(x, labels);
  const float *x_data = x.data<float>(), *t = labels.data<float>();
  Tensor* y = Output(0);
  y->Resize(s.n);
  float* y_data = y->mutable_data<float>();
  for (int64_t i = 0; i < s.n; ++i) {
    double sum = 0;
    for (int64_t j = i * s.d; j < (i + 1) * s.d; ++j) {
      sum -= t[j] * std::log(std::max(x_data[j], kSmallest));
    }
    y_data[i] = static_cast<float>(sum);
  }
  return true;
}

template <>
bool CrossEntropyGradientOp<CPUContext>::RunOnDevice() {
  const Tensor &x = Input(0), &labels = Input(1), &dy = Input(2);
  const Sizes s = CheckDistributionLabels(x, labels);
  CheckRowGradient(dy, s.n);
  const float *x_data = x.data<float>(), *t = labels.data<float>(), *dy_data = dy.data<float>();
  Tensor* dx = Output(0);
  dx->ResizeLike(x);
  float* dx_data = dx->mutable_data<float>();
  for (int64_t i = 0; i < s.n; ++i) {
    for (int64_t j = i * s.d; j < (i + 1) * s.d; ++j) {
      dx_data[j] = -dy_data[i] * t[j] / std::max(x_data[j], kSmallest);
    }
  }
  return true;
}

template <>
bool MakeTwoClassOp<CPUContext>::RunOnDevice() {
  const Tensor& x = Input(0);
  std::vector<int64_t> dims = x.sizes();
  dims.push_back(2);
  const float* x_data = x.data<float>();
  Tensor* y = Output(0);
  y->Resize(dims);
  float* y_data = y->mutable_data<float>();
  for (int64_t i = 0; i < x.numel(); ++i) {
    y_data[2 * i] = 1 - x_data[i];
    y_data[2 * i + 1] = x_data[i];
  }
  return true;
}

template <>
bool MakeTwoClassGradientOp<CPUContext>::RunOnDevice() {
  const Tensor& dy = Input(0);
  CAFFE_ENFORCE(dy.dim() >= 1 && dy.size(-1) == 2, "gradient ", ShapeString(dy.sizes()),
                ": the last axis must have size 2");
  const float* dy_data = dy.data<float>();
  Tensor* dx = Output(0);
  dx->Resize(std::vector<int64_t>(dy.sizes().begin(), dy.sizes().end() - 1));
  float* dx_data = dx->mutable_data<float>();
  for (int64_t i = 0; i < dx->numel(); ++i) dx_data[i] = dy_data[2 * i + 1] - dy_data[2 * i];
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
  CAFFE_ENFORCE_GE(in[0].dims_size(), 1);
  return {CreateTensorShape({in[0].dims_size() == 1 ? 1 : in[0].dims(0)}, in[0].data_type())};
}

void ForwardSchema(OpSchema& schema) {
  schema.NumInputs(2)
      .NumOutputs(1)
      .TensorInferenceFunction(InferRows)
      .Input(0, "X", "Float probabilities [N, D]; a vector is one row.")
      .Output(0, "Y", "A float vector of N losses.");
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
        "Y[i] = -log X[i, label[i]]. Probabilities below 1e-20 count as that; a label out of "
        "range is an error.")
    .Input(1, "label", "int32 of N class indices, [N] or [N, 1].");
OPERATOR_SCHEMA(LabelCrossEntropyGradient)
    .FillUsing(GradientSchema)
    .SetDoc("The gradient of LabelCrossEntropy: -dY[i] / X[i, label[i]], zero elsewhere.");
OPERATOR_SCHEMA(CrossEntropy)
    .FillUsing(ForwardSchema)
    .SetDoc("Y[i] = -sum_j label[i, j] log X[i, j]. Probabilities below 1e-20 count as that.")
    .Input(1, "label", "Float probabilities, shaped like X.");
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
    .SetDoc("Turns probabilities of one class into those of two: Y[..., 0] = 1 - X, Y[..., 1] = X.")
    .Input(0, "X", "Float probabilities of any shape.")
    .Output(0, "Y", "The shape of X and one more axis of size 2.");
OPERATOR_SCHEMA(MakeTwoClassGradient)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      CAFFE_ENFORCE_GE(in[0].dims_size(), 1);
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
