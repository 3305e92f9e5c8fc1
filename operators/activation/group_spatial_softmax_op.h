// GroupSpatialSoftmax: at each pixel of N x C x H x W, a softmax over each group of num_classes
// channels.
#pragma once

#include "operators/activation/group_spatial_softmax_functions.h"
#include "operators/common/host_device_op.h"

namespace caffe2 {

// Groups of `classes` channels as images of their own. Throws EnforceNotMet unless x is N x (groups
// * classes) x H x W.
inline PixelLabels GroupsOfChannels(const Tensor& x, int64_t classes) {
  CAFFE_ENFORCE(x.dim() == 4 && x.size(1) % classes == 0,
                "the logits must be N x C x H x W, with C a multiple of the ", classes,
                " classes (num_classes); found shape ", ShapeString(x.sizes()));
  return {x.size(0) * (x.size(1) / classes), classes, x.size_from_dim(2)};
}

// The argument num_classes. Throws EnforceNotMet unless it is positive and the order NCHW.
inline int64_t ReadNumClasses(const OperatorBase& op, int default_classes) {
  const int classes = op.GetSingleArgument<int>("num_classes", default_classes);
  CAFFE_ENFORCE(classes > 0, "argument num_classes must be positive, found ", classes);
  const auto order = op.GetSingleArgument<std::string>("order", "NCHW");
  CAFFE_ENFORCE(order == "NCHW", "argument order must be NCHW, found ", order);
  return classes;
}

// Shared by the operator and its gradient: the arguments.
template <class Context>
class GroupSpatialSoftmaxBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  GroupSpatialSoftmaxBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), classes_(ReadNumClasses(*this, 81)) {}

 protected:
  const int64_t classes_;
};

template <class Context>
class GroupSpatialSoftmaxOp final : public GroupSpatialSoftmaxBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using GroupSpatialSoftmaxBase<Context>::GroupSpatialSoftmaxBase;
  bool RunOnDevice() override {
    const Tensor& x = Input(0);
    const PixelLabels pixels = GroupsOfChannels(x, this->classes_);
    const float* from = x.data<float>();
    Tensor* p = Output(0);
    p->ResizeLike(x);
    ForEach(pixels.count(), GroupSoftmax{pixels, from, p->template mutable_data<float>()},
            &context_);
    return true;
  }
};

// Probabilities, their gradient -> the gradient of the logits.
template <class Context>
class GroupSpatialSoftmaxGradientOp final : public GroupSpatialSoftmaxBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using GroupSpatialSoftmaxBase<Context>::GroupSpatialSoftmaxBase;
  bool RunOnDevice() override {
    const Tensor &p = Input(0), &dp = Input(1);
    const PixelLabels pixels = GroupsOfChannels(p, this->classes_);
    CAFFE_ENFORCE(dp.sizes() == p.sizes(),
                  "the gradient must have the shape of the probabilities, ", ShapeString(p.sizes()),
                  "; found ", ShapeString(dp.sizes()));
    const float *from = p.data<float>(), *gradient = dp.data<float>();
    Tensor* dx = Output(0);
    dx->ResizeLike(p);
    ForEach(pixels.count(),
            GroupSoftmaxGradient{pixels, from, gradient, dx->template mutable_data<float>()},
            &context_);
    return true;
  }
};

}  // namespace caffe2
