// Copies the elements of one tensor to another, unchanged.
#pragma once

#include <cstring>

#include "caffe2/core/operator.h"

namespace caffe2 {

// Sets bytes to zero, on the device of the context.
template <class Context>
void ClearBytes(size_t nbytes, void* data, Context* context);
template <>
inline void ClearBytes(size_t nbytes, void* data, CPUContext* /*context*/) {
  if (nbytes > 0) std::memset(data, 0, nbytes);
}

// Copies all elements of X, of any type, to Y, whose shape is set already. Does nothing if both are
// the same tensor. Throws EnforceNotMet if X holds no data or the numbers of elements differ.
template <class Context>
void CopyElements(const Tensor& X, Tensor* Y, Context* context) {
  CAFFE_ENFORCE(X.has_data(), "the input of shape ", ShapeString(X.sizes()), " holds no data");
  if (Y == &X) return;
  CAFFE_ENFORCE(X.numel() == Y->numel(), "shapes ", ShapeString(X.sizes()), " and ",
                ShapeString(Y->sizes()), " differ in their number of elements");
  context->CopyItems(X.dtype(), X.numel(), X.raw_data(), Y->raw_mutable_data(X.dtype()));
}

// Y = X, with its shape.
template <class Context>
void CopyTensor(const Tensor& X, Tensor* Y, Context* context) {
  Y->ResizeLike(X);
  CopyElements(X, Y, context);
}

// Output 0 = input 0; further inputs are not read.
template <class Context>
class CopyOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(CopyOp);
  bool RunOnDevice() override {
    CopyTensor(Input(0), Output(0), &context_);
    return true;
  }
};

// Output 0 shares the storage of input 0.
template <class Context>
class AliasOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(AliasOp);
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.has_data(), "the input of shape ", ShapeString(X.sizes()), " holds no data");
    Output(0)->ShareData(X);
    return true;
  }
};

}  // namespace caffe2
