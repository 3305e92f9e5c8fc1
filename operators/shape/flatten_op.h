// Flatten, FlattenToVec, ResizeLike: change the shape of a tensor and keep its elements.
#pragma once

#include "operators/common/copy_elements.h"

namespace caffe2 {

// The axis of Flatten for a tensor of `dims` dimensions; may be `dims` itself.
inline int FlattenAxis(int axis, int dims) {
  CAFFE_ENFORCE(axis >= -dims && axis <= dims, "axis ", axis, " is out of range for ", dims,
                " dimensions");
  return axis < 0 ? axis + dims : axis;
}

template <class Context>
class FlattenOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  FlattenOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), axis_(this->template GetSingleArgument<int>("axis", 1)) {}
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    Tensor* Y = Output(0);
    const int axis = FlattenAxis(axis_, X.dim());
    Y->Resize(X.size_to_dim(axis), X.size_from_dim(axis));
    CopyElements(X, Y, &context_);
    return true;
  }

 private:
  int axis_;
};

template <class Context>
class FlattenToVecOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(FlattenToVecOp);
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.dim() >= 1, "the input must have at least one axis, found a scalar");
    Tensor* Y = Output(0);
    Y->Resize(X.numel());
    CopyElements(X, Y, &context_);
    return true;
  }
};

template <class Context>
class ResizeLikeOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(ResizeLikeOp);
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &like = this->template Input<Tensor>(1);
    CAFFE_ENFORCE(X.numel() == like.numel(),
                  "both inputs must have the same number of elements: input 0 has shape ",
                  ShapeString(X.sizes()), ", input 1 ", ShapeString(like.sizes()));
    Tensor* Y = Output(0);
    Y->ResizeLike(like);
    CopyElements(X, Y, &context_);
    return true;
  }
};

}  // namespace caffe2
