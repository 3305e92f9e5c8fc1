// SampleAs takes the rows whose label is positive. The host reads the labels.
#pragma once

#include <vector>

#include "operators/common/indices.h"
#include "operators/sparse/boolean_mask_op.h"

namespace caffe2 {

// The numbers of the positive labels. Throws EnforceNotMet unless there is one label, int32 or
// int64, for each row of X.
inline std::vector<int64_t> SampledRows(const Tensor& X, const Tensor& labels) {
  CAFFE_ENFORCE(X.dim() >= 1 && labels.dim() >= 1 && labels.size(0) == X.size(0) &&
                    labels.numel() == X.size(0),
                "there must be one label for each row of X: labels has shape ",
                ShapeString(labels.sizes()), ", X ", ShapeString(X.sizes()));
  Tensor copy(CPU);
  const std::vector<int64_t> values = ReadIntegers(OnHost(labels, &copy), "labels");
  std::vector<int64_t> rows;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] > 0) rows.push_back(static_cast<int64_t>(i));
  }
  return rows;
}

template <class Context>
class SampleAsOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(SampleAsOp);
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    CopyKeptRows(X, SampledRows(X, this->template Input<Tensor>(1)), Output(0), &context_);
    return true;
  }
};

// X, labels, dY -> dX.
template <class Context>
class SampleAsGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(SampleAsGradientOp);
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &dY = Input(2);
    SpreadKeptRows(dY, SampledRows(X, this->template Input<Tensor>(1)), X.size(0), Output(0),
                   &context_);
    return true;
  }
};

}  // namespace caffe2
