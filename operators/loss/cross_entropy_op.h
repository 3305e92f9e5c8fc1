// Cross entropies of probabilities X [N, D] with labels, one value for each row; and MakeTwoClass.
#pragma once

#include <vector>

#include "operators/common/short_rows.h"
#include "operators/loss/loss_functions.h"

namespace caffe2 {

// Returns the number of rows of X: its first axis; a vector is one row. Throws EnforceNotMet,
// naming shapes, unless there is one class index for each row.
int64_t CheckIndexLabels(const Tensor& x, const Tensor& labels);

// Y[i] = -log X[i, label[i]]
template <class Context>
class LabelCrossEntropyOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(LabelCrossEntropyOp);
  bool RunOnDevice() override;
};

// dX[i, j] = -dY[i] / X[i, j] where j is the label, else 0
template <class Context>
class LabelCrossEntropyGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(LabelCrossEntropyGradientOp);
  bool RunOnDevice() override;
};

// Returns the number of rows of X. Throws EnforceNotMet, naming both shapes, unless the labels have
// the shape of X.
int64_t CheckProbabilityLabels(const Tensor& x, const Tensor& labels);

// X, T -> Y[i] = -sum_j T[i, j] log X[i, j]
template <class Context>
class CrossEntropyOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(CrossEntropyOp);
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &x = Input(0), &labels = Input(1);
    const int64_t rows = CheckProbabilityLabels(x, labels), width = WidthOf(x, rows);
    const T *x_data = x.data<T>(), *t = labels.data<T>();
    Tensor* y = Output(0);
    y->Resize(rows);
    ForEachRowSum(rows, width, CrossEntropyRows<T>{width, x_data, t, y->template mutable_data<T>()},
                  &context_);
    return true;
  }

  static int64_t WidthOf(const Tensor& x, int64_t rows) { return rows == 0 ? 0 : x.numel() / rows; }
};

// X, T, dY -> dX[i, j] = -dY[i] T[i, j] / X[i, j]
template <class Context>
class CrossEntropyGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(CrossEntropyGradientOp);
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &x = Input(0), &labels = Input(1), &dy = Input(2);
    const int64_t rows = CheckProbabilityLabels(x, labels);
    CAFFE_ENFORCE(dy.numel() == rows, "the gradient must have one value for each of the ", rows,
                  " rows, found shape ", ShapeString(dy.sizes()));
    const T *x_data = x.data<T>(), *t = labels.data<T>(), *dy_data = dy.data<T>();
    Tensor* dx = Output(0);
    dx->ResizeLike(x);
    ForEach(x.numel(),
            CrossEntropyGradient<T>{CrossEntropyOp<Context>::WidthOf(x, rows), x_data, t, dy_data,
                                    dx->template mutable_data<T>()},
            &context_);
    return true;
  }
};

// X -> Y[..., 0] = 1 - X[...], Y[..., 1] = X[...]
template <class Context>
class MakeTwoClassOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(MakeTwoClassOp);
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& x = Input(0);
    std::vector<int64_t> dims = x.sizes();
    dims.push_back(2);
    const T* x_data = x.data<T>();
    Tensor* y = Output(0);
    y->Resize(dims);
    ForEach(x.numel(), MakeTwoClass<T>{x_data, y->template mutable_data<T>()}, &context_);
    return true;
  }
};

// dY -> dX = dY[..., 1] - dY[..., 0]
template <class Context>
class MakeTwoClassGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(MakeTwoClassGradientOp);
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& dy = Input(0);
    CAFFE_ENFORCE(dy.dim() >= 1 && dy.size(-1) == 2,
                  "the last axis of the gradient must have size 2, found shape ",
                  ShapeString(dy.sizes()));
    const T* dy_data = dy.data<T>();
    Tensor* dx = Output(0);
    dx->Resize(std::vector<int64_t>(dy.sizes().begin(), dy.sizes().end() - 1));
    ForEach(dx->numel(), MakeTwoClassGradient<T>{dy_data, dx->template mutable_data<T>()},
            &context_);
    return true;
  }
};

}  // namespace caffe2
