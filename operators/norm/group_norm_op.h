// GroupNorm (Wu and He, 2018): normalizes each group of channels of each image to mean 0 and
// deviation 1, then applies a learned scale and offset to each channel.
#pragma once

#include "operators/activation/activation_types.h"
#include "operators/conv/conv_pool_shape.h"
#include "operators/norm/group_norm_functions.h"

namespace caffe2 {

constexpr int kDefaultNormGroups = 32;

// Shared by the operator and its gradient: the arguments and the check of the shapes.
template <class Context>
class GroupNormBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  GroupNormBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        group_(this->template GetSingleArgument<int>("group", kDefaultNormGroups)),
        epsilon_(this->template GetSingleArgument<float>("epsilon", 1e-5f)),
        order_(ReadStorageOrder(ArgumentHelper(def))) {
    CAFFE_ENFORCE(group_ >= 1, "argument group must be positive, found ", group_);
    CAFFE_ENFORCE(epsilon_ >= 0, "argument epsilon must not be negative, found ", epsilon_);
  }

 protected:
  // Throws EnforceNotMet unless the channels are a multiple of the groups and gamma and beta have
  // one value for each channel.
  GroupLayout Layout(const Tensor& x, const Tensor& gamma, const Tensor& beta) const {
    const ImageShape image = ImageShape::FromDims(x.sizes(), order_);
    CAFFE_ENFORCE(image.channels % group_ == 0, "the ", image.channels,
                  " channels of X must be a multiple of the argument group (", group_, ")");
    CAFFE_ENFORCE(gamma.numel() == image.channels && beta.numel() == image.channels,
                  "gamma and beta must have one element for each of the ", image.channels,
                  " channels of X: gamma has shape ", ShapeString(gamma.sizes()), ", beta ",
                  ShapeString(beta.sizes()), ", X ", ShapeString(x.sizes()));
    const int64_t size = image.SpatialSize();
    const bool last = order_ == StorageOrder::kNHWC;
    return {image.batch, group_,          image.channels / group_,
            size,        last ? 1 : size, last ? image.channels : 1};
  }
  float epsilon() const { return epsilon_; }

 private:
  int64_t group_;
  float epsilon_;
  StorageOrder order_;
};

// Normalize of the device does the work. It writes n x groups values of mean and inverse_std, each
// unless null.
template <class Context>
class GroupNormOp final : public GroupNormBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using GroupNormBase<Context>::GroupNormBase;
  bool RunOnDevice() override { return ActivationTypes<Context>::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &X = Input(0), &gamma = Input(1), &beta = Input(2);
    const GroupLayout l = this->Layout(X, gamma, beta);
    const T* x = X.data<T>();
    const float *scale = gamma.data<float>(), *bias = beta.data<float>();
    Output(0)->ResizeLike(X);
    float* saved[2] = {nullptr, nullptr};  // mean, inv_std
    for (int i = 1; i < OutputSize(); ++i) {
      Output(i)->Resize(l.images, l.groups);
      saved[i - 1] = Output(i)->template mutable_data<float>();
    }
    Normalize(l, x, scale, bias, saved[0], saved[1], Output(0)->template mutable_data<T>());
    return true;
  }

 private:
  template <typename T>
  void Normalize(const GroupLayout& l, const T* x, const float* scale, const float* bias,
                 float* mean, float* inverse, T* y);
};

// With z = (x - mean) * inv_std:
//   dgamma = sum dy z,  dbeta = sum dy, over images and elements of a channel
//   dx = inv_std * (gamma dy - mean(gamma dy) - z mean(gamma dy z)), means over the group
template <class Context>
class GroupNormGradientOp final : public GroupNormBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using GroupNormBase<Context>::GroupNormBase;
  bool RunOnDevice() override { return ActivationTypes<Context>::Dispatch(this, Input(1).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &dY = Input(0), &X = Input(1), &gamma = Input(2), &beta = Input(3);
    const GroupLayout l = this->Layout(X, gamma, beta);
    CAFFE_ENFORCE(dY.numel() == X.numel(), "dY must have as many elements as X: dY has shape ",
                  ShapeString(dY.sizes()), ", X ", ShapeString(X.sizes()));
    for (int i : {4, 5})
      CAFFE_ENFORCE(Input(i).numel() == l.images * l.groups, "input ", i,
                    " must have one value for each image and group, ", l.images * l.groups,
                    "; found ", Input(i).numel());
    const T *dy = dY.data<T>(), *x = X.data<T>();
    Output(0)->ResizeLike(X);
    for (int i : {1, 2}) Output(i)->ResizeLike(gamma);
    Gradients(l, dy, x, Output(0)->template mutable_data<T>(),
              Output(1)->template mutable_data<float>(), Output(2)->template mutable_data<float>());
    return true;
  }

 private:
  template <typename T>
  void Gradients(const GroupLayout& l, const T* dy, const T* x, T* dx, float* dgamma, float* dbeta);
};

}  // namespace caffe2
