// RowMul, ReduceTailSum, ReduceFrontWeightedSum: operators on rows and one number for each row.
#pragma once

#include <vector>

#include "operators/common/combination_functions.h"
#include "operators/common/host_device_op.h"

namespace caffe2 {

// The number of rows of X. Throws EnforceNotMet unless w has one number for each.
inline int64_t CheckRowFactors(const Tensor& X, const Tensor& w) {
  CAFFE_ENFORCE(X.dim() >= 1 && w.numel() == X.size(0),
                "w must have one element for each row of mat: w has shape ", ShapeString(w.sizes()),
                ", mat ", ShapeString(X.sizes()));
  return X.size(0);
}

// Y[i, :] = X[i, :] * w[i]
template <class Context>
class RowMulOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(RowMulOp);
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &X = Input(0), &W = Input(1);
    CheckRowFactors(X, W);
    const T *x = X.data<T>(), *w = W.data<T>();
    Tensor* Y = Output(0);
    Y->ResizeLike(X);
    ForEach(X.numel(), MultiplyRows<T>{X.size_from_dim(1), x, w, Y->template mutable_data<T>()},
            &context_);
    return true;
  }
};

// y[i] = sum of row i
template <class Context>
class ReduceTailSumOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(ReduceTailSumOp);
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.dim() >= 1, "mat must have at least one axis, found a scalar");
    const int64_t rows = X.size(0), width = X.size_from_dim(1);
    const T* x = X.data<T>();
    Output(0)->Resize(rows);
    ForEachRow(rows, width, SumOfRows<T>{width, x, Output(0)->template mutable_data<T>()},
               &context_);
    return true;
  }
};

// y = sum over i of w[i] X[i, :]
template <class Context>
class ReduceFrontWeightedSumOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(ReduceFrontWeightedSumOp);
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &X = Input(0), &W = Input(1);
    const int64_t rows = CheckRowFactors(X, W), width = X.size_from_dim(1);
    const T *x = X.data<T>(), *w = W.data<T>();
    Output(0)->Resize(std::vector<int64_t>(X.sizes().begin() + 1, X.sizes().end()));
    ForEach(width, WeightedSumOfRows<T>{rows, width, x, w, Output(0)->template mutable_data<T>()},
            &context_);
    return true;
  }
};

// dX[i, :] = w[i] dY
template <class Context>
class ReduceFrontWeightedSumGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(ReduceFrontWeightedSumGradientOp);
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &W = Input(0), &dY = Input(1);
    CAFFE_ENFORCE(W.dim() == 1, "SCALARS must be one-dimensional, found shape ",
                  ShapeString(W.sizes()));
    const T *w = W.data<T>(), *dy = dY.data<T>();
    std::vector<int64_t> dims = dY.sizes();
    dims.insert(dims.begin(), W.size(0));
    Output(0)->Resize(dims);
    ForEach(Output(0)->numel(),
            OuterProduct<T>{dY.numel(), w, dy, Output(0)->template mutable_data<T>()}, &context_);
    return true;
  }
};

}  // namespace caffe2
