// Normalize and NormalizeL1: divide the vectors along an axis by their L2 or L1 norms.
#pragma once

#include "operators/common/host_device_op.h"
#include "operators/loss/distance_functions.h"

namespace caffe2 {

inline VectorLayout VectorsAlong(const Tensor& X, int axis) {
  axis = X.canonical_axis_index(axis);
  const int64_t inner = X.size_from_dim(axis + 1);
  return {X.size_to_dim(axis) * inner, X.size(axis), inner};
}

// Divides vectors by their norms.
template <class Norm, typename T, class Context>
void DivideByNorms(const VectorLayout& v, const T* x, T* y, Context* context) {
  ForEachRow(v.count, v.n, NormalizeVectors<Norm, T>{v, x, y}, context);
}
template <class Norm, typename T>
void DivideByNorms(const VectorLayout& v, const T* x, T* y, CPUContext* context);

template <class Context, class Norm>
class NormalizeOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  NormalizeOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), axis_(this->template GetSingleArgument<int>("axis", -1)) {}
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    const VectorLayout v = VectorsAlong(X, axis_);
    const T* x = X.data<T>();
    Tensor* Y = Output(0);
    Y->ResizeLike(X);
    DivideByNorms<Norm>(v, x, Y->template mutable_data<T>(), &context_);
    return true;
  }

 private:
  int axis_;
};

// X, dY -> dX, for the L2 norm.
template <class Context>
class NormalizeGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  NormalizeGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), axis_(this->template GetSingleArgument<int>("axis", -1)) {}
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &X = Input(0), &dY = Input(1);
    CAFFE_ENFORCE(X.sizes() == dY.sizes(), "dY must have the shape of X: dY has shape ",
                  ShapeString(dY.sizes()), ", X ", ShapeString(X.sizes()));
    const VectorLayout v = VectorsAlong(X, axis_);
    const T *x = X.data<T>(), *dy = dY.data<T>();
    Tensor* dX = Output(0);
    dX->ResizeLike(X);
    ForEachRow(v.count, v.n, NormalizeVectorsGradient<T>{v, x, dy, dX->template mutable_data<T>()},
               &context_);
    return true;
  }

 private:
  int axis_;
};

}  // namespace caffe2
