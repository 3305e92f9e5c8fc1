// Softmax over the axes from `axis` on.
#pragma once

#include "caffe2/core/operator.h"

namespace caffe2 {

template <class Context>
class SoftmaxOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SoftmaxOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), axis_(this->template GetSingleArgument<int>("axis", 1)) {}
  bool RunOnDevice() override {
    return TensorTypes<float, bfloat16>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType();

 private:
  int axis_;
};

template <class Context>
class SoftmaxGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SoftmaxGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), axis_(this->template GetSingleArgument<int>("axis", 1)) {}
  bool RunOnDevice() override {
    return TensorTypes<float, bfloat16>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType();

 private:
  int axis_;
};

// y[i, :] = softmax(x[i, :]) for rows of length d; x and y may be the same memory. If `log_sums`
// is not null, log_sums[i] = log(sum_j exp(x[i, j])), so that log y[i, j] = x[i, j] - log_sums[i].
// T is float or bfloat16; arithmetic is in float.
template <typename T>
void SoftmaxRows(int64_t rows, int64_t d, const T* x, T* y, float* log_sums);

}  // namespace caffe2
