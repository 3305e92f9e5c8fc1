// SpaceToBatch and BatchToSpace: move blocks of pixels to images of a larger batch, and back.
#pragma once

#include <vector>

#include "operators/activation/activation_types.h"
#include "operators/common/host_device_op.h"
#include "operators/conv/conv_pool_shape.h"
#include "operators/image/space_to_batch_functions.h"

namespace caffe2 {

// The layout of a run, from the arguments and the shape of the input. Throws EnforceNotMet if they
// do not fit.
struct SpaceBatchShape : SpaceBatchLayout {
  static constexpr int64_t kMaxBlock = 1 << 15;

  // `dims` is the shape of the joined images or, with `apart`, of the larger batch.
  static SpaceBatchShape Make(const ArgumentHelper& arguments, const std::vector<int64_t>& dims,
                              bool apart) {
    CAFFE_ENFORCE(dims.size() == 4, "the input must have four axes, found shape ",
                  ShapeString(dims));
    CAFFE_ENFORCE(ReadStorageOrder(arguments) == StorageOrder::kNCHW,
                  "argument order must be NCHW");
    const auto block = arguments.GetSingleArgument<int64_t>("block_size", 2);
    CAFFE_ENFORCE(block > 0 && block <= kMaxBlock, "argument block_size (", block,
                  ") must be from 1 to ", kMaxBlock);
    const std::vector<int64_t> pads = ReadPads(arguments, 2);
    for (const int64_t pad : pads)
      CAFFE_ENFORCE(pad >= 0, "a pad must not be negative, found ", pad);
    SpaceBatchShape s{{dims[0], dims[1], dims[2], dims[3], block, pads[0], pads[1]}};
    const int64_t more_rows = pads[0] + pads[2], more_columns = pads[1] + pads[3];
    if (apart) {
      CAFFE_ENFORCE(dims[0] % (block * block) == 0, "the number of images must be a multiple of ",
                    block * block, " (block_size squared), found shape ", ShapeString(dims));
      s.batch = dims[0] / (block * block);
      s.height = CheckedNumel({dims[2], block}) - more_rows;
      s.width = CheckedNumel({dims[3], block}) - more_columns;
      CAFFE_ENFORCE(s.height >= 0 && s.width >= 0, "the pads are larger than the image of ",
                    ShapeString(dims), " and blocks of ", block);
    }
    CAFFE_ENFORCE((s.height + more_rows) % block == 0 && (s.width + more_columns) % block == 0,
                  "the image ", ShapeString(dims), " with its pads cannot be divided by ", block);
    s.rows = (s.height + more_rows) / block;
    s.columns = (s.width + more_columns) / block;
    return s;
  }
  std::vector<int64_t> Dims(bool apart) const {
    if (!apart) return {batch, channels, height, width};
    return {CheckedNumel({batch, block, block}), channels, rows, columns};
  }
};

template <class Context, bool kApart>  // the input is the larger batch
class SpaceBatchOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using Operator<Context>::Operator;
  bool RunOnDevice() override { return ActivationTypes<Context>::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    const auto shape = SpaceBatchShape::Make(ArgumentHelper(this->debug_def()), X.sizes(), kApart);
    const T* x = X.data<T>();
    Output(0)->Resize(shape.Dims(!kApart));
    T* y = Output(0)->template mutable_data<T>();
    if constexpr (kApart) {
      ForEach(Output(0)->numel(), BatchToSpaceElements<T>{shape, x, y}, &context_);
    } else {
      ForEach(Output(0)->numel(), SpaceToBatchElements<T>{shape, x, y}, &context_);
    }
    return true;
  }
};

}  // namespace caffe2
