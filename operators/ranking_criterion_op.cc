// MarginRankingCriterion and CosineEmbeddingCriterion: losses of pairs.
#include <algorithm>

#include "caffe2/core/operator.h"
#include "operators/gradient_rule.h"

namespace caffe2 {
namespace {

// Throws unless all inputs in [0, n) have the shape of input 0.
void CheckSameShapes(const OperatorBase& op, int n) {
  const Tensor& first = op.Input<Tensor>(0);
  for (int i = 1; i < n; ++i) {
    const Tensor& other = op.Input<Tensor>(i);
    CAFFE_ENFORCE(other.sizes() == first.sizes(), "input ", i, " ", ShapeString(other.sizes()),
                  " is not shaped like input 0 ", ShapeString(first.sizes()));
  }
}

class MarginRankingCriterionOp final : public Operator<CPUContext> {
 public:
  MarginRankingCriterionOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), margin_(GetSingleArgument<float>("margin", 1.f)) {}
  bool RunOnDevice() override {
    CheckSameShapes(*this, 3);
    const float *x1 = Input(0).data<float>(), *x2 = Input(1).data<float>();
    const int* y = Input(2).data<int>();
    Output(0)->ResizeLike(Input(0));
    float* loss = Output(0)->mutable_data<float>();
    for (int64_t i = 0; i < Input(0).numel(); ++i) {
      loss[i] = std::max(0.f, margin_ - static_cast<float>(y[i]) * (x1[i] - x2[i]));
    }
    return true;
  }

 private:
  float margin_;
};

class MarginRankingCriterionGradientOp final : public Operator<CPUContext> {
 public:
  MarginRankingCriterionGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), margin_(GetSingleArgument<float>("margin", 1.f)) {}
  bool RunOnDevice() override {
    CheckSameShapes(*this, 4);
    const float *x1 = Input(0).data<float>(), *x2 = Input(1).data<float>();
    const int* y = Input(2).data<int>();
    const float* d_loss = Input(3).data<float>();
    Output(0)->ResizeLike(Input(0));
    Output(1)->ResizeLike(Input(0));
    float *dx1 = Output(0)->mutable_data<float>(), *dx2 = Output(1)->mutable_data<float>();
    for (int64_t i = 0; i < Input(0).numel(); ++i) {
      const auto sign = static_cast<float>(y[i]);
      dx1[i] = margin_ - sign * (x1[i] - x2[i]) > 0 ? -sign * d_loss[i] : 0.f;
      dx2[i] = -dx1[i];
    }
    return true;
  }

 private:
  float margin_;
};

class CosineEmbeddingCriterionOp final : public Operator<CPUContext> {
 public:
  CosineEmbeddingCriterionOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), margin_(GetSingleArgument<float>("margin", 0.f)) {}
  bool RunOnDevice() override {
    CheckSameShapes(*this, 2);
    const float* s = Input(0).data<float>();
    const int* y = Input(1).data<int>();
    Output(0)->ResizeLike(Input(0));
    float* loss = Output(0)->mutable_data<float>();
    for (int64_t i = 0; i < Input(0).numel(); ++i) {
      loss[i] = y[i] == 1 ? 1.f - s[i] : std::max(0.f, s[i] - margin_);
    }
    return true;
  }

 private:
  float margin_;
};

class CosineEmbeddingCriterionGradientOp final : public Operator<CPUContext> {
 public:
  CosineEmbeddingCriterionGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), margin_(GetSingleArgument<float>("margin", 0.f)) {}
  bool RunOnDevice() override {
    CheckSameShapes(*this, 3);
    const float *s = Input(0).data<float>(), *d_loss = Input(2).data<float>();
    const int* y = Input(1).data<int>();
    Output(0)->ResizeLike(Input(0));
    float* ds = Output(0)->mutable_data<float>();
    for (int64_t i = 0; i < Input(0).numel(); ++i) {
      ds[i] = y[i] == 1 ? -d_loss[i] : s[i] > margin_ ? d_loss[i] : 0.f;
    }
    return true;
  }

 private:
  float margin_;
};

}  // namespace

REGISTER_CPU_OPERATOR(MarginRankingCriterion, MarginRankingCriterionOp);
REGISTER_CPU_OPERATOR(MarginRankingCriterionGradient, MarginRankingCriterionGradientOp);
REGISTER_CPU_OPERATOR(CosineEmbeddingCriterion, CosineEmbeddingCriterionOp);
REGISTER_CPU_OPERATOR(CosineEmbeddingCriterionGradient, CosineEmbeddingCriterionGradientOp);

OPERATOR_SCHEMA(MarginRankingCriterion)
    .NumInputs(3)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("loss = max(0, margin - Y (X1 - X2)): X1 should be the larger where Y is 1.")
    .Arg("margin", "(float, default 1) How much larger.")
    .Input(0, "X1", "A float tensor of any shape.")
    .Input(1, "X2", "Another of the same shape.")
    .Input(2, "Y", "int32, of the same shape: 1 or -1.")
    .Output(0, "loss", "The loss of each pair.");
OPERATOR_SCHEMA(MarginRankingCriterionGradient)
    .NumInputs(4)
    .NumOutputs(2)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in[0], in[1]};
    })
    .SetDoc("The gradients of MarginRankingCriterion.")
    .Arg("margin", "As in the forward operator.")
    .Input(0, "X1", "As in the forward operator.")
    .Input(1, "X2", "As in the forward operator.")
    .Input(2, "Y", "As in the forward operator.")
    .Input(3, "dloss", "The gradient of the loss.")
    .Output(0, "dX1", "The gradient of X1.")
    .Output(1, "dX2", "The gradient of X2.");
OPERATOR_SCHEMA(CosineEmbeddingCriterion)
    .NumInputs(2)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("loss = 1 - S where Y is 1, else max(0, S - margin), for cosines S.")
    .Arg("margin", "(float, default 0) The cosine that pairs of Y = -1 may have.")
    .Input(0, "S", "A float tensor of any shape: cosines of pairs.")
    .Input(1, "Y", "int32, of the same shape: 1 or -1.")
    .Output(0, "loss", "The loss of each pair.");
OPERATOR_SCHEMA(CosineEmbeddingCriterionGradient)
    .NumInputs(3)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("The gradient of CosineEmbeddingCriterion.")
    .Arg("margin", "As in the forward operator.")
    .Input(0, "S", "As in the forward operator.")
    .Input(1, "Y", "As in the forward operator.")
    .Input(2, "dloss", "The gradient of the loss.")
    .Output(0, "dS", "The gradient of S.");
REGISTER_GRADIENT(MarginRankingCriterion, GradientRule<"I0 I1 I2 GO0 -> GI0 GI1">);
REGISTER_GRADIENT(CosineEmbeddingCriterion, GradientRule<"I0 I1 GO0 -> GI0">);

}  // namespace caffe2
