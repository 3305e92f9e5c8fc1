// The Relu of the sum of two normalized images: the end of a residual block whose shortcut is a
// convolution.
#pragma once

#include "operators/conv/norm_conv_op.h"
#include "operators/norm/spatial_bn_op.h"

namespace caffe2 {

// Reads the arguments and checks shapes. X, bn_params, Z, z_bn_params, [dY] -> ...
template <class Context>
class NormSumNormBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  NormSumNormBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), order_(ReadStorageOrder(ArgumentHelper(def))) {}

 protected:
  // The shape of both images. Throws EnforceNotMet if an input does not fit.
  ChannelShape CheckInputs() const {
    const Tensor& x = Input(0);
    const ChannelShape shape = ChannelShapeOf(x.sizes(), order_);
    CheckLike(x, &Input(2), "Z");
    for (const int input : {1, 3})
      BnParamsRowOf(Input(input), kBnParamsRows, kMeanRow, shape.channels);
    if (InputSize() > 4) CheckLike(x, &Input(4), "dY");
    return shape;
  }
  const float* Row(int bn_params, BnParamsRow row, const ChannelShape& shape) const {
    return BnParamsRowOf(Input(bn_params), kBnParamsRows, row, shape.channels);
  }

  const StorageOrder order_;
};

}  // namespace caffe2
