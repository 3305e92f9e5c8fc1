#include "operators/loss/accuracy_op.h"

#include <cmath>

#include "operators/loss/index_labels.h"
#include "operators/loss/label_check.h"

namespace caffe2 {
namespace {

// True if fewer than k classes have a better prediction than the label. Of equal predictions the
// first is better. A NaN is never right.
bool IsAmongBest(const float* row, int64_t d, int64_t label, int k) {
  const float score = row[label];
  if (std::isnan(score)) return false;
  int64_t better = 0;
  for (int64_t j = 0; j < d; ++j) better += row[j] > score || (row[j] == score && j < label);
  return better < k;
}

}  // namespace

template <>
bool AccuracyOp<CPUContext>::RunOnDevice() {
  const Tensor &x = Input(0), &labels = Input(1);
  CAFFE_ENFORCE(x.dim() == 2, "predictions must be a matrix, found shape ", ShapeString(x.sizes()));
  const int64_t n = x.size(0), d = x.size(1);
  CAFFE_ENFORCE(labels.numel() == n,
                "there must be one label for each row of predictions: labels has shape ",
                ShapeString(labels.sizes()), ", predictions ", ShapeString(x.sizes()));
  const float* x_data = x.data<float>();
  Tensor narrowed(CPU);
  const int* label_data = IndexLabels(labels, &narrowed, &context_);
  int64_t correct = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t label = CheckLabel(label_data[i], i, d);
    correct += IsAmongBest(x_data + i * d, d, label, top_k_);
  }
  Tensor* accuracy = Output(0);
  accuracy->Resize();
  *accuracy->mutable_data<float>() =
      n == 0 ? 0.f : static_cast<float>(static_cast<double>(correct) / static_cast<double>(n));
  return true;
}

REGISTER_CPU_OPERATOR(Accuracy, AccuracyOp<CPUContext>);

OPERATOR_SCHEMA(Accuracy)
    .NumInputs(2)
    .NumOutputs(1)
    .ScalarType(TensorProto::FLOAT)
    .SetDoc(
        "The share of rows whose label is among the top_k largest predictions; 0 for an empty "
        "batch. Of equal predictions the first counts as the larger. A label out of range is "
        "an error.")
    .Arg<int>("top_k", "(> 0, default 1) The number of predictions that may hold the label.")
    .Input(0, "predictions",
           "A float matrix, on CUDA devices also float16 or bfloat16, [N, D] of scores.")
    .Input(1, "labels", "N class indices, int32 or int64.")
    .Output(0, "accuracy", "A float scalar in [0, 1].");
SHOULD_NOT_DO_GRADIENT(Accuracy);

}  // namespace caffe2
