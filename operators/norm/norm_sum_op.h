// The sum of two normalized images: the end of a residual block whose shortcut is a convolution.
#pragma once

#include "operators/conv/norm_conv_op.h"
#include "operators/norm/spatial_bn_op.h"

namespace caffe2 {

// Reads the arguments and checks shapes. X, norm, Z, z_norm, [dY] -> ...
template <class Context>
class NormSumNormBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  NormSumNormBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), order_(ReadStorageOrder(ArgumentHelper(def))) {}

 protected:
  // The shape of both images; throws EnforceNotMet if an input does not fit.
  ChannelShape CheckInputs() const {
    const Tensor& x = Input(0);
    const ChannelShape shape = ChannelShape::Make(x.sizes(), order_);
    CheckLike(x, &Input(2), "Z");
    for (const int norm : {1, 3}) NormRowOf(Input(norm), kNormRows, kMeanRow, shape.channels);
    if (InputSize() > 4) CheckLike(x, &Input(4), "dY");
    return shape;
  }
  const float* Row(int norm, NormRow row, const ChannelShape& shape) const {
    return NormRowOf(Input(norm), kNormRows, row, shape.channels);
  }

  const StorageOrder order_;
};

}  // namespace caffe2
