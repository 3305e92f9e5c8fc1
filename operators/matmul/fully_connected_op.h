// FC: Y = X W^T + b, and FCTransposed: Y = X W + b, with X and W seen as matrices and b of shape
// [n].
#pragma once

#include <vector>

#include "caffe2/utils/math.h"
#include "caffe2/utils/onednn_matmul.h"
#include "operators/activation/activation_types.h"

namespace caffe2 {

// The matrix sizes of a fully connected layer: X is m x k, Y m x n, W n x k (k x n if transposed).
struct FullyConnectedSizes {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
};

// Splits X before `axis` and W before `axis_w` (both may be negative) into rows and columns.
// Throws EnforceNotMet naming both shapes if they do not fit.
inline FullyConnectedSizes GetFullyConnectedSizes(const Tensor& x, const Tensor& w, int axis,
                                                  int axis_w, bool transposed) {
  const int x_axis = x.canonical_axis_index(axis), w_axis = w.canonical_axis_index(axis_w);
  const int64_t w_rows = w.size_to_dim(w_axis), w_columns = w.size_from_dim(w_axis);
  const FullyConnectedSizes sizes{.m = x.size_to_dim(x_axis),
                                  .n = transposed ? w_columns : w_rows,
                                  .k = x.size_from_dim(x_axis)};
  const int64_t expected = transposed ? w_rows : w_columns;
  CAFFE_ENFORCE(sizes.k == expected, "X ", ShapeString(x.sizes()), " has ", sizes.k,
                " features in each row (from axis ", x_axis, " on), but W ", ShapeString(w.sizes()),
                transposed ? " (transposed)" : "", " takes ", expected);
  return sizes;
}

// The arguments of the forward and the gradient operator.
template <class Context>
class FullyConnectedBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  FullyConnectedBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        axis_(this->template GetSingleArgument<int>("axis", 1)),
        axis_w_(this->template GetSingleArgument<int>("axis_w", 1)) {}

 protected:
  int axis_, axis_w_;
};

template <class Context, bool kTransposed>
class FullyConnectedOp final : public FullyConnectedBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  FullyConnectedOp(const OperatorDef& def, Workspace* ws)
      : FullyConnectedBase<Context>(def, ws),
        constant_filter_(this->template GetSingleArgument<bool>("constant_filter", false)) {}

  bool RunOnDevice() override { return ActivationTypes<Context>::Dispatch(this, Input(X).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &x = Input(X), &w = Input(W), &b = Input(B);
    const auto s = GetFullyConnectedSizes(x, w, this->axis_, this->axis_w_, kTransposed);
    CAFFE_ENFORCE(b.dim() == 1 && b.size(0) == s.n, "b must have shape [", s.n, "] for W of shape ",
                  ShapeString(w.sizes()), ", found ", ShapeString(b.sizes()));
    Tensor* y = Output(Y);
    const int axis = x.canonical_axis_index(this->axis_);
    y_dims_.assign(x.sizes().begin(), x.sizes().begin() + axis);
    y_dims_.push_back(s.n);
    y->Resize(y_dims_);
    Multiply(s, x.data<T>(), w, b.data<T>(), y->mutable_data<T>());
    return true;
  }

 private:
  enum { X, W, B };
  enum { Y };

  template <typename T>
  void Multiply(const FullyConnectedSizes& s, const T* x, const Tensor& w, const T* b, T* y) {
    if constexpr (std::is_same_v<Context, CPUContext>) {
      // packed_ recognizes weights by their address. Keep the memory of the last weights, so that
      // no other weights get this address.
      if (constant_filter_ && !w.shares_storage_with(last_w_)) last_w_.ShareData(w);
      math::GemmBiasPacked(false, !kTransposed, s.m, s.n, s.k, x, w.data<T>(), b, y,
                           constant_filter_ ? &packed_ : nullptr);
    } else {
      math::GemmBias(false, !kTransposed, s.m, s.n, s.k, x, w.data<T>(), b, y, &context_);
    }
  }

  const bool constant_filter_;
  Tensor last_w_{CPU};           // constant weights of the last run
  PackedFactor packed_;          // the same in the layout of the host's kernel
  std::vector<int64_t> y_dims_;  // kept, so that a run does not allocate
};

// With dY as an m x n matrix: dW = dY^T X (X^T dY if transposed), db = the column sums of dY,
// dX = dY W (dY W^T if transposed).
template <class Context, bool kTransposed>
class FullyConnectedGradientOp final : public FullyConnectedBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using FullyConnectedBase<Context>::FullyConnectedBase;

  bool RunOnDevice() override { return ActivationTypes<Context>::Dispatch(this, Input(X).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &x = Input(X), &w = Input(W), &dy = Input(DY);
    const auto s = GetFullyConnectedSizes(x, w, this->axis_, this->axis_w_, kTransposed);
    CAFFE_ENFORCE(dy.numel() == s.m * s.n, "dY must have ", s.m * s.n, " elements for X of shape ",
                  ShapeString(x.sizes()), " and W of shape ", ShapeString(w.sizes()),
                  ", found shape ", ShapeString(dy.sizes()));
    const T* dy_data = dy.data<T>();
    Tensor *dw = Output(DW), *db = Output(DB);
    dw->ResizeLike(w);
    db->Resize(s.n);
    if (kTransposed) {
      math::Gemm<T>(true, false, s.k, s.n, s.m, 1, x.data<T>(), dy_data, 0, dw->mutable_data<T>(),
                    &context_);
    } else {
      math::Gemm<T>(true, false, s.n, s.k, s.m, 1, dy_data, x.data<T>(), 0, dw->mutable_data<T>(),
                    &context_);
    }
    math::ColumnSums(s.m, s.n, dy_data, db->mutable_data<T>(), &context_);
    if (this->OutputSize() > DX) {
      Tensor* dx = Output(DX);
      dx->ResizeLike(x);
      math::Gemm<T>(false, kTransposed, s.m, s.k, s.n, 1, dy_data, w.data<T>(), 0,
                    dx->mutable_data<T>(), &context_);
    }
    return true;
  }

 private:
  enum { X, W, DY };
  enum { DW, DB, DX };
};

}  // namespace caffe2
