// SpatialBN: what its forward and gradient operators share.
#pragma once

#include <cmath>

#include "caffe2/core/operator.h"
#include "operators/spatial_bn_kernels.h"

namespace caffe2 {

// What follows the normalization in the same pass.
enum class BatchNormEpilogue { kNone, kRelu, kSumRelu };

// Reads the arguments of SpatialBN, checks shapes and types. The parameters of a channel (scale,
// bias, means, variances) are float whatever X is.
template <class Context>
class SpatialBNOpBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SpatialBNOpBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        order_(ReadStorageOrder(ArgumentHelper(def))),
        is_test_(this->template GetSingleArgument<bool>("is_test", false)),
        epsilon_(this->template GetSingleArgument<double>("epsilon", 1e-5)),
        num_batches_(this->template GetSingleArgument<int>("num_batches", 1)) {
    CAFFE_ENFORCE_GE(epsilon_, 0);
    CAFFE_ENFORCE_GE(num_batches_, 1);
  }

 protected:
  // The values of input i, of which there must be one a channel.
  const float* ChannelInput(int i, const ChannelShape& shape) const {
    const Tensor& tensor = Input(i);
    CAFFE_ENFORCE_EQ(tensor.numel(), shape.channels, "input ", i, " (", debug_def().input(i),
                     ") needs one value a channel");
    return tensor.template data<float>();
  }
  float* ChannelOutput(int i, const ChannelShape& shape) {
    Output(i)->Resize(shape.channels);
    return Output(i)->template mutable_data<float>();
  }
  float InverseStd(float variance) const {
    return static_cast<float>(1.0 / std::sqrt(variance + epsilon_));
  }

  const StorageOrder order_;
  const bool is_test_;
  const double epsilon_;
  const int num_batches_;
};

// Where each form of the gradient has its inputs (-1: it has none).
struct BatchNormGradientInputs {
  int scale, bias, y, dy, mean, inverse_std, sum_dscale;
};
template <BatchNormEpilogue kEpilogue>
constexpr BatchNormGradientInputs kBatchNormGradientInputs =
    kEpilogue == BatchNormEpilogue::kNone   ? BatchNormGradientInputs{1, -1, -1, 2, 3, 4, 5}
    : kEpilogue == BatchNormEpilogue::kRelu ? BatchNormGradientInputs{1, 2, -1, 3, 4, 5, -1}
                                            : BatchNormGradientInputs{1, -1, 2, 3, 4, 5, -1};

}  // namespace caffe2
