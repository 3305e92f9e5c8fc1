// ChannelShuffle and its gradient.
#pragma once

#include "caffe2/core/operator.h"
#include "operators/conv/conv_pool_shape.h"

namespace caffe2 {

// Transposes `batch` matrices of rows x columns runs: y[c][r] = x[r][c]. A run is `run` elements of
// `itemsize` bytes.
template <class Context>
void TransposeRuns(int64_t batch, int64_t rows, int64_t columns, int64_t run, size_t itemsize,
                   const void* x, void* y, Context* context);

// Channel g * (C / group) + k of X becomes channel k * group + g of Y. With kGradient, the inverse.
template <class Context, bool kGradient>
class ChannelShuffleOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  ChannelShuffleOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        order_(ReadStorageOrder(ArgumentHelper(def))),
        group_(this->template GetSingleArgument<int64_t>("group", 1)) {
    CAFFE_ENFORCE(group_ >= 1, "argument group must be positive, found ", group_);
  }

  bool RunOnDevice() override {
    const Tensor& x = Input(0);
    CAFFE_ENFORCE(x.has_data() && x.dtype().copy() == nullptr, "cannot shuffle ", x.DebugString());
    const ImageShape image = ImageShape::FromDims(x.sizes(), order_);
    CAFFE_ENFORCE(image.channels % group_ == 0, "the ", image.channels,
                  " channels are not a multiple of the argument group (", group_, ")");
    Tensor* y = Output(0);
    y->ResizeLike(x);
    void* to = y->raw_mutable_data(x.dtype());
    const int64_t per_group = image.channels / group_, spatial = image.SpatialSize();
    const bool channels_first = order_ == StorageOrder::kNCHW;
    TransposeRuns(channels_first ? image.batch : image.batch * spatial,
                  kGradient ? per_group : group_, kGradient ? group_ : per_group,
                  channels_first ? spatial : 1, x.itemsize(), x.raw_data(), to, &context_);
    return true;
  }

 private:
  const StorageOrder order_;
  const int64_t group_;
};

}  // namespace caffe2
