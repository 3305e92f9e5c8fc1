#include "operators/loss/softmax_with_loss_op.h"

#include <algorithm>
#include <cmath>

#include "caffe2/utils/parallel.h"
#include "operators/activation/softmax_op.h"
#include "operators/common/element_type.h"
#include "operators/loss/index_labels.h"
#include "operators/loss/label_check.h"

namespace caffe2 {
namespace {

constexpr float kSumTolerance = 1e-4f;    // for the sum of a row of label probabilities
constexpr int64_t kSerialRows = 1 << 13;  // elements

float WeightOf(const float* weights, int64_t row) {
  return weights != nullptr ? weights[row] : 1.f;
}

double SumOfWeights(const float* weights, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += WeightOf(weights, i);
  return sum;
}

// -sum_j t[j] log p[j]
float DistributionLoss(int64_t row, int64_t d, const float* p, const float* t) {
  double loss = 0, total = 0;
  for (int64_t j = 0; j < d; ++j) {
    CAFFE_ENFORCE(t[j] >= 0, "a label probability must not be negative, found ", t[j], " in row ",
                  row, ", class ", j);
    loss -= std::log(std::max(p[j], kMinProbability)) * t[j];
    total += t[j];
  }
  CAFFE_ENFORCE(std::abs(total - 1) < kSumTolerance, "label probabilities of row ", row,
                " add up to ", total, ", not 1");
  return static_cast<float>(loss);
}

}  // namespace

template <>
bool SoftmaxWithLossOp<CPUContext>::RunOnDevice() {
  const Tensor &x = Input(0), &labels = Input(1);
  const Tensor* weights = InputSize() > 2 ? &Input(2) : nullptr;
  const auto [n, d] = CheckShapes(x, labels, weights);
  Tensor *p = Output(0), *loss = Output(1);
  p->ResizeLike(x);
  loss->Resize();
  row_losses_.Resize(n);
  const float* x_data = x.data<float>();
  const float* weight_data = weights != nullptr ? weights->data<float>() : nullptr;
  float *p_data = p->mutable_data<float>(), *losses = row_losses_.mutable_data<float>();
  SoftmaxRows(n, d, x_data, p_data, losses);

  double sum = 0;
  if (label_prob_) {
    const float* t = labels.data<float>();
    for (int64_t i = 0; i < n; ++i) {
      sum += WeightOf(weight_data, i) * DistributionLoss(i, d, p_data + i * d, t + i * d);
    }
  } else {
    Tensor narrowed(CPU);
    const int* t = IndexLabels(labels, &narrowed, &context_);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t label = CheckLabel(t[i], i, d);
      sum += WeightOf(weight_data, i) * (losses[i] - x_data[i * d + label]);
    }
  }
  const double total_weight = SumOfWeights(average_by_rows_ ? nullptr : weight_data, n);
  *loss->mutable_data<float>() =
      total_weight != 0 ? static_cast<float>(scale_ * sum / total_weight) : 0.f;
  return true;
}

// dX[i, j] = (P[i, j] - T[i, j]) * weight[i] * scale / (sum of weights) * d_loss, where T is the
// label as a distribution.
template <>
bool SoftmaxWithLossGradientOp<CPUContext>::RunOnDevice() {
  const auto [x, labels, weights, p, d_loss, s] = ReadGradientInputs();
  const float* weight_data = weights != nullptr ? weights->data<float>() : nullptr;
  const float* p_data = p.data<float>();
  const float* t_prob = label_prob_ ? labels.data<float>() : nullptr;
  Tensor narrowed(CPU);
  const int* t_index = label_prob_ ? nullptr : IndexLabels(labels, &narrowed, &context_);
  const double total_weight = SumOfWeights(average_by_rows_ ? nullptr : weight_data, s.n);
  const double factor = total_weight != 0 ? scale_ / total_weight * *d_loss.data<float>() : 0;

  Tensor* dx = Output(0);
  dx->ResizeLike(x);
  float* dx_data = dx->mutable_data<float>();
  ParallelFor(s.n, RowGrain(s.d, kSerialRows), [=, s = s](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto row_factor = static_cast<float>(factor * WeightOf(weight_data, i));
      const float* row = p_data + i * s.d;
      float* out = dx_data + i * s.d;
      if (t_prob != nullptr) {
        const float* t = t_prob + i * s.d;
        for (int64_t j = 0; j < s.d; ++j) out[j] = (row[j] - t[j]) * row_factor;
      } else {
        const int64_t label = CheckLabel(t_index[i], i, s.d);
        for (int64_t j = 0; j < s.d; ++j) out[j] = row[j] * row_factor;
        out[label] -= row_factor;
      }
    }
  });
  return true;
}

REGISTER_CPU_OPERATOR(SoftmaxWithLoss, SoftmaxWithLossOp<CPUContext>);
REGISTER_CPU_OPERATOR(SoftmaxWithLossGradient, SoftmaxWithLossGradientOp<CPUContext>);

namespace {

void SoftmaxWithLossArguments(OpSchema& schema) {
  schema
      .Arg<int>("axis",
                "(default 1) Axes of the logits before this one count the rows; the other axes are "
                "the classes.")
      .Arg<int>("label_prob",
                "(default 0) If 1, labels are float probabilities of every class, which add up to "
                "1 in each row; else one class index for each row.")
      .Arg<int>("average_by_batch_size",
                "(default 0) If 1, the loss is divided by the number of rows, not by the sum of "
                "their weights.")
      .Arg<float>("scale", "(>= 0, default 1) Multiplies the loss.");
}

}  // namespace

OPERATOR_SCHEMA(SoftmaxWithLoss)
    .FillUsing(SoftmaxWithLossArguments)
    .FillUsing(DescribeSoftmaxLoss)
    .SetDoc(
        "The softmax P of the logits and its cross entropy with the labels: loss = scale * "
        "(sum over rows of weight * -log P[row, label]) / (sum of weights), or 0 if the "
        "weights add up to 0. A class index out of range is an error.")
    .Input(0, "logits",
           "A float tensor, on CUDA devices also float16 or bfloat16, taken as an N x D matrix.")
    .Input(1, "labels", "int32 or int64 of N elements, or float of N x D with label_prob.")
    .Input(2, "weight_tensor", "Optional: a float weight for each of the N rows.");

OPERATOR_SCHEMA(SoftmaxWithLossGradient)
    .FillUsing(SoftmaxWithLossArguments)
    .FillUsing(DescribeSoftmaxLossGradient)
    .SetDoc(
        "The gradient of SoftmaxWithLoss with respect to the logits. With weights they are "
        "input 2, and the last two inputs follow them.");

void DescribeSoftmaxLoss(OpSchema& schema) {
  schema.NumInputs(2, 3)
      .NumOutputs(2)
      .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
        return std::vector<TensorShape>{in[0], CreateTensorShape({}, TensorProto::FLOAT)};
      })
      .Output(0, "softmax", "The probabilities, shaped like the logits.")
      .Output(1, "loss", "A float scalar.");
}
void DescribeSoftmaxLossGradient(OpSchema& schema) {
  schema.NumInputs(4, 5)
      .NumOutputs(1)
      .IdenticalTypeAndShapeOfInput(0)
      .Input(0, "logits", "As in the forward operator.")
      .Input(1, "labels", "As in the forward operator.")
      .Input(2, "softmax", "The first output of the forward operator.")
      .Input(3, "d_loss", "The gradient of the loss, a scalar.")
      .Input(4, "d_loss_with_weights", "The gradient of the loss if input 2 holds weights.")
      .Output(0, "d_logits", "The gradient of the logits, shaped like them.");
}

std::vector<OperatorDef> SoftmaxLossGradientMaker::GetGradientDefs() {
  CAFFE_ENFORCE(GradOut(0).IsEmpty(), "no gradient flows through the softmax output ", O(0), " of ",
                Def().type(), "; use Softmax");
  std::vector<std::string> inputs(Def().input().begin(), Def().input().end());
  inputs.push_back(O(0));
  inputs.push_back(GO(1));
  return SingleGradientDef(Def().type() + "Gradient", "", inputs, std::vector{GI(0)});
}
REGISTER_GRADIENT(SoftmaxWithLoss, SoftmaxLossGradientMaker);

}  // namespace caffe2
