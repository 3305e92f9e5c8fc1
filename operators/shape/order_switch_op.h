// NCHW2NHWC and NHWC2NCHW.
#pragma once

#include "caffe2/core/operator.h"
#include "operators/conv/conv_pool_shape.h"

namespace caffe2 {

constexpr StorageOrder OtherOrder(StorageOrder order) {
  return order == StorageOrder::kNCHW ? StorageOrder::kNHWC : StorageOrder::kNCHW;
}

// X in the order kFrom -> Y in the other one. Elements of any type that can be copied bytewise.
// TransposeMatrices of the device (operators/shape/matrix_transpose.h) is found by its last
// argument.
template <class Context, StorageOrder kFrom>
class OrderSwitchOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(OrderSwitchOp);

  bool RunOnDevice() override {
    const Tensor& x = Input(0);
    CAFFE_ENFORCE(x.has_data() && x.dtype().copy() == nullptr, "cannot reorder ", x.DebugString());
    const ImageShape image = ImageShape::FromDims(x.sizes(), kFrom);
    Tensor* y = Output(0);
    y->Resize(image.ToDims(OtherOrder(kFrom)));
    void* to = y->raw_mutable_data(x.dtype());
    const int64_t spatial = image.SpatialSize();
    const bool channels_first = kFrom == StorageOrder::kNCHW;
    TransposeMatrices(image.batch, channels_first ? image.channels : spatial,
                      channels_first ? spatial : image.channels, x.itemsize(), x.raw_data(), to,
                      &context_);
    return true;
  }
};

}  // namespace caffe2
