// SpatialBNFinalize: computes the bn_params of a batch (bn_params.h) from its sums.
#pragma once

#include "operators/conv/norm_conv_op.h"
#include "operators/norm/spatial_bn_op.h"

namespace caffe2 {

// Reads the arguments and checks shapes. X, sum, sumsq, scale, bias, mean, var -> X, bn_params,
// mean, var.
template <class Context>
class SpatialBNFinalizeBase : public SpatialBNOpBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SpatialBNFinalizeBase(const OperatorDef& def, Workspace* ws)
      : SpatialBNOpBase<Context>(def, ws),
        momentum_(this->template GetSingleArgument<float>("momentum", 0.9f)) {
    CAFFE_ENFORCE(momentum_ >= 0 && momentum_ <= 1, "argument momentum must be from 0 to 1, found ",
                  momentum_);
    CAFFE_ENFORCE(!this->is_test_, "SpatialBNFinalize is for training: is_test must be 0");
  }

 protected:
  const float momentum_;
};

}  // namespace caffe2
