// Slice, which copies a box of a tensor, and its gradient.
#pragma once

#include <vector>

#include "operators/common/copy_elements.h"
#include "operators/common/shape_input.h"

namespace caffe2 {

// The box [start, start + size) of a tensor.
struct TensorBox {
  std::vector<int64_t> start, size;

  // A negative bound counts from the end: -1 is the end, one after the last element. Bounds past
  // the end are cut. Dimensions without bounds are whole. Throws EnforceNotMet if a bound is before
  // the start, or an end is before its start.
  static TensorBox Resolve(const std::vector<int64_t>& starts, const std::vector<int64_t>& ends,
                           const std::vector<int64_t>& dims);
};

// TakeBox copies a box of x, a tensor of shape `dims`, to y; PutBox copies y to that box of x.
// PutBox is for types that can be copied bytewise.
template <class Context>
void TakeBox(TypeMeta meta, const std::vector<int64_t>& dims, const TensorBox& box, const void* x,
             void* y, Context* context);
template <class Context>
void PutBox(TypeMeta meta, const std::vector<int64_t>& dims, const TensorBox& box, const void* y,
            void* x, Context* context);
// dX, shaped like X, is dY in the box and 0 outside.
template <class Context>
void PutBoxIntoZeros(const Tensor& dY, const Tensor& X, const TensorBox& box, Tensor* dX,
                     Context* context) {
  CAFFE_ENFORCE(dY.sizes() == box.size, "the gradient's shape ", ShapeString(dY.sizes()),
                " is not the shape of the slice, ", ShapeString(box.size));
  CAFFE_ENFORCE(dY.has_data() && dY.dtype().copy() == nullptr, "cannot slice a gradient of ",
                dY.DebugString());
  dX->ResizeLike(X);
  void* dx = dX->raw_mutable_data(dY.dtype());
  ClearBytes(dX->nbytes(), dx, context);
  PutBox(dY.dtype(), X.sizes(), box, dY.raw_data(), dx, context);
}

// Bounds from the arguments `starts` and `ends`, or from inputs 1 and 2.
template <class Context>
class SliceBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SliceBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        starts_(this->template GetRepeatedArgument<int64_t>("starts")),
        ends_(this->template GetRepeatedArgument<int64_t>("ends")) {}

 protected:
  TensorBox ReadBox(const std::vector<int64_t>& dims, bool from_inputs) {
    if (!from_inputs) return TensorBox::Resolve(starts_, ends_, dims);
    return TensorBox::Resolve(ReadDimensions(this->template Input<Tensor>(1), "starts"),
                              ReadDimensions(this->template Input<Tensor>(2), "ends"), dims);
  }

 private:
  std::vector<int64_t> starts_, ends_;
};

template <class Context>
class SliceOp final : public SliceBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using SliceBase<Context>::SliceBase;
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.has_data(), "the input of shape ", ShapeString(X.sizes()), " holds no data");
    const TensorBox box = this->ReadBox(X.sizes(), InputSize() > 1);
    Tensor* Y = Output(0);
    Y->Resize(box.size);
    TakeBox(X.dtype(), X.sizes(), box, X.raw_data(), Y->raw_mutable_data(X.dtype()), &context_);
    return true;
  }
};

// Inputs X, [starts, ends,] dY: dX is dY inside the slice and 0 outside.
template <class Context>
class SliceGradientOp final : public SliceBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using SliceBase<Context>::SliceBase;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &dY = Input(InputSize() - 1);
    const TensorBox box = this->ReadBox(X.sizes(), InputSize() > 2);
    PutBoxIntoZeros(dY, X, box, Output(0), &context_);
    return true;
  }
};

}  // namespace caffe2
