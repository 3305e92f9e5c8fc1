// Conv: shapes shared by the forward and gradient operators and their schemas.
#pragma once

#include <vector>

#include "caffe2/core/operator.h"
#include "caffe2/core/tensor.h"
#include "caffe2/utils/onednn_conv.h"
#include "operators/conv/conv_pool_shape.h"

namespace caffe2 {

// The shapes and arguments of one convolution.
struct ConvShape {
  ImageShape x, y;
  Window window;
  int64_t group = 1;
  // [M, C / group, kernel...] for both storage orders.
  std::vector<int64_t> filter;

  // Throws EnforceNotMet, naming shapes, if input and filter do not fit the arguments.
  static ConvShape Make(const WindowArguments& arguments, const std::vector<int64_t>& x_dims,
                        const std::vector<int64_t>& filter_dims);
  // Floating-point operations; a multiply-add counts as 2.
  uint64_t Flops() const;
};

// The description of the convolution for oneDNN, without an epilogue.
onednn::ConvProblem MakeConvProblem(const ConvShape& shape, bool channels_last, TypeMeta type,
                                    TypeMeta filter_type, TypeMeta bias_type);

// The argument `algo`, with the names of Caffe2's NNPACK engine: WINOGRAD or DIRECT. AUTO and
// unknown names leave the choice to the backend.
onednn::ConvAlgorithm ReadConvAlgorithm(const ArgumentHelper& arguments);
void DescribeConvAlgorithm(OpSchema& schema);

// Which gradients an operator ConvGradient computes: X, filter, dY, [S] -> dfilter, [dbias], [dX].
struct ConvGradientOutputs {
  // Throws EnforceNotMet for another number of outputs, and unless S is the blob of dX.
  explicit ConvGradientOutputs(const OperatorBase& op);
  // Throws EnforceNotMet unless dY has X's type and `y_dims`, and S X's shape and type.
  void CheckInputs(const OperatorBase& op, const std::vector<int64_t>& y_dims) const;

  bool no_bias;
  bool input_gradient;
  bool adds;  // dX to S
};

// Shape inference for the schemas of Conv, its fused variants and ConvGradient.
std::vector<TensorShape> InferConv(const OperatorDef& def, const std::vector<TensorShape>& inputs);
std::vector<TensorShape> InferConvGradient(const OperatorDef& def,
                                           const std::vector<TensorShape>& inputs);
OpSchema::Cost CostOfConv(const OperatorDef& def, const std::vector<TensorShape>& inputs);
OpSchema::Cost CostOfConvGradient(const OperatorDef& def, const std::vector<TensorShape>& inputs);

}  // namespace caffe2
