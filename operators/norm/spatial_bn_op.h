// Shared by the forward and gradient operators of SpatialBN (batch normalization) on all devices.
#pragma once

#include <cmath>

#include "caffe2/core/operator.h"
#include "operators/norm/spatial_bn_kernels.h"

namespace caffe2 {

// The operations after the normalization in the same pass: none, Relu, or adding Z and then Relu.
enum class BatchNormEpilogue { kNone, kRelu, kSumRelu };

// Reads the arguments of SpatialBN and checks shapes and types. The parameters of a channel (scale,
// bias, means, variances) are float for all types of X.
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
    CAFFE_ENFORCE(epsilon_ >= 0, "argument epsilon must not be negative, found ", epsilon_);
    CAFFE_ENFORCE(num_batches_ >= 1, "argument num_batches must be at least 1, found ",
                  num_batches_);
  }

 protected:
  // The values of input i. Throws EnforceNotMet unless there is one for each channel.
  const float* ChannelInput(int i, const ChannelShape& shape) const {
    const Tensor& tensor = Input(i);
    CAFFE_ENFORCE(tensor.numel() == shape.channels, "input ", i, " (", debug_def().input(i),
                  ") must have one value for each of the ", shape.channels, " channels, found ",
                  tensor.numel());
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

// Shared by the forward operator and its fused variants: X, scale, bias, mean, var, [Z], [sums,
// sumsqs] -> Y, [mean, var, saved_mean, saved_inv_std].
template <class Context>
class SpatialBNForwardBase : public SpatialBNOpBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SpatialBNForwardBase(const OperatorDef& def, Workspace* ws, BatchNormEpilogue epilogue)
      : SpatialBNOpBase<Context>(def, ws),
        adds_(epilogue == BatchNormEpilogue::kSumRelu),
        momentum_(this->template GetSingleArgument<float>("momentum", 0.9f)),
        sums_(adds_ ? 6 : 5),
        sums_are_given_(InputSize() > sums_) {
    CAFFE_ENFORCE(momentum_ >= 0 && momentum_ <= 1, "argument momentum must be from 0 to 1, found ",
                  momentum_);
    CAFFE_ENFORCE(OutputSize() == (this->is_test_ ? 1 : 5), "with is_test ", this->is_test_,
                  " there must be ", this->is_test_ ? 1 : 5, " outputs, found ", OutputSize());
    CAFFE_ENFORCE(sums_are_given_ || this->num_batches_ == 1, "num_batches is ", this->num_batches_,
                  ", but the sums over the batches are not given as inputs");
    const bool own_sums = epilogue != BatchNormEpilogue::kNone ||
                          this->template GetSingleArgument<bool>("own_sums", false);
    CAFFE_ENFORCE(!own_sums || this->num_batches_ == 1, "num_batches is ", this->num_batches_,
                  ", but the sums are of one batch");
  }

 protected:
  // Z, which must have X's shape and type; null for the variants without a sum.
  template <typename T>
  const T* Addend(const Tensor& x) const {
    if (!adds_) return nullptr;
    CAFFE_ENFORCE(Input(5).sizes() == x.sizes(), "Z must have the shape of X: Z has shape ",
                  ShapeString(Input(5).sizes()), ", X ", ShapeString(x.sizes()));
    return Input(5).template data<T>();
  }

  const bool adds_;  // adds Z
  const float momentum_;
  const int sums_;  // index of the input
  const bool sums_are_given_;
};

// The input indices of each variant of the gradient (-1: it has no such input).
struct BatchNormGradientInputs {
  int scale, bias, y, dy, mean, inverse_std, sum_dscale;
};
template <BatchNormEpilogue kEpilogue>
constexpr BatchNormGradientInputs kBatchNormGradientInputs =
    kEpilogue == BatchNormEpilogue::kNone   ? BatchNormGradientInputs{1, -1, -1, 2, 3, 4, 5}
    : kEpilogue == BatchNormEpilogue::kRelu ? BatchNormGradientInputs{1, 2, -1, 3, 4, 5, -1}
                                            : BatchNormGradientInputs{1, -1, 2, 3, 4, 5, -1};

}  // namespace caffe2
