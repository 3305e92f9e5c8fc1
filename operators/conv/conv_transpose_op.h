// Shared by ConvTranspose and its gradient on all devices.
#pragma once

#include <vector>

#include "caffe2/core/operator.h"
#include "operators/conv/conv_op.h"

namespace caffe2 {

// Describes the convolution from Y to X whose gradient is ConvTranspose from X to Y: its `x` is Y
// and its `y` is X. Throws EnforceNotMet, naming the shapes, for a filter that does not fit.
ConvShape MakeTransposedConvShape(const WindowArguments& arguments,
                                  const std::vector<int64_t>& x_dims,
                                  const std::vector<int64_t>& filter_dims);

// The outputs of the gradient operator: dfilter, [dbias], [dX].
struct ConvTransposeOutputs {
  bool bias = true, input = false;
  // Throws EnforceNotMet if the number of outputs does not fit no_bias.
  static ConvTransposeOutputs Make(const OperatorBase& op) {
    const bool no_bias = op.GetSingleArgument<bool>("no_bias", false);
    CAFFE_ENFORCE(op.OutputSize() >= (no_bias ? 1 : 2) && op.OutputSize() <= (no_bias ? 2 : 3),
                  "there must be an output dfilter, ", no_bias ? "" : "an output dbias, ",
                  "and possibly an output dX; found ", op.OutputSize(), " outputs");
    return {!no_bias, op.OutputSize() > (no_bias ? 1 : 2)};
  }
};

}  // namespace caffe2
