// SpatialNarrowAs cuts images to the height and width of other images.
#pragma once

#include "operators/shape/slice_op.h"

namespace caffe2 {

// The box of `dims` (N x H x W or N x C x H x W) that narrowing to the shape `like` takes. Throws
// EnforceNotMet unless images of that shape fit into it.
TensorBox NarrowedBox(const std::vector<int64_t>& dims, const std::vector<int64_t>& like);

template <class Context>
class SpatialNarrowAsOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(SpatialNarrowAsOp);
  bool RunOnDevice() override {
    const Tensor& A = Input(0);
    CAFFE_ENFORCE(A.has_data(), "A of shape ", ShapeString(A.sizes()), " holds no data");
    const TensorBox box = NarrowedBox(A.sizes(), this->template Input<Tensor>(1).sizes());
    Tensor* C = Output(0);
    C->Resize(box.size);
    TakeBox(A.dtype(), A.sizes(), box, A.raw_data(), C->raw_mutable_data(A.dtype()), &context_);
    return true;
  }
};

// A, B, dC -> dA: dC in the part that was taken, 0 in the rest.
template <class Context>
class SpatialNarrowAsGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(SpatialNarrowAsGradientOp);
  bool RunOnDevice() override {
    const Tensor &A = Input(0), &dC = Input(2);
    const TensorBox box = NarrowedBox(A.sizes(), this->template Input<Tensor>(1).sizes());
    PutBoxIntoZeros(dC, A, box, Output(0), &context_);
    return true;
  }
};

}  // namespace caffe2
