// RoIPool and RoIPoolF: the maxima of a grid of cells over each region of interest (Girshick, ICCV
// 2015).
#pragma once

#include <limits>
#include <vector>

#include "caffe2/core/device_backend.h"
#include "operators/common/host_device_op.h"
#include "operators/detection/regions.h"
#include "operators/detection/roi_pool_functions.h"

namespace caffe2 {

// Shared by the operator and its gradient: the arguments and the check of the shapes.
template <class Context>
class RoIPoolBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  RoIPoolBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        is_test_(this->template GetSingleArgument<int>("is_test", 0) != 0),
        height_(this->template GetSingleArgument<int>("pooled_h", 1)),
        width_(this->template GetSingleArgument<int>("pooled_w", 1)),
        scale_(this->template GetSingleArgument<float>("spatial_scale", 1.f)) {
    CAFFE_ENFORCE(height_ > 0, "argument pooled_h must be positive, found ", height_);
    CAFFE_ENFORCE(width_ > 0, "argument pooled_w must be positive, found ", width_);
    CAFFE_ENFORCE(scale_ > 0, "argument spatial_scale must be positive, found ", scale_);
    const auto order = this->template GetSingleArgument<std::string>("order", "NCHW");
    CAFFE_ENFORCE(order == "NCHW", "argument order must be NCHW, found ", order);
  }

 protected:
  const Tensor& CheckRegions(const Tensor& X) const {
    const auto& rois = this->template Input<Tensor>(1);
    CheckRegionShapes(X, rois);
    CAFFE_ENFORCE(X.size_from_dim(2) <= std::numeric_limits<int>::max(), "an image has ",
                  X.size_from_dim(2), " pixels, more than ", std::numeric_limits<int>::max());
    return rois;
  }
  PoolGrid GridOf(const Tensor& X) const {
    return {X.size(1), X.size(2), X.size(3), height_, width_};
  }

  bool is_test_;
  int64_t height_, width_;
  float scale_;
};

template <class Context>
class RoIPoolOp final : public RoIPoolBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  RoIPoolOp(const OperatorDef& def, Workspace* ws) : RoIPoolBase<Context>(def, ws) {
    CAFFE_ENFORCE(this->is_test_ ? OutputSize() == 1 : OutputSize() == 2, this->type(),
                  " must have two outputs, or with is_test one; found ", OutputSize());
  }
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const Tensor& rois = this->CheckRegions(X);
    const std::vector<int64_t> dims{rois.size(0), X.size(1), this->height_, this->width_};
    const auto regions = RegionsFor<PooledRegion>(rois, X.size(0), this->scale_, &context_);
    const float* x = X.data<float>();
    Tensor* Y = Output(0);
    Y->Resize(dims);
    int* argmax = nullptr;
    if (OutputSize() > 1) {
      Output(1)->Resize(dims);
      argmax = Output(1)->template mutable_data<int>();
    }
    ForEach(
        Y->numel(),
        RoIPoolCells{this->GridOf(X), regions.data(), x, Y->template mutable_data<float>(), argmax},
        &context_);
    return true;
  }
};

// X, RoIs, argmaxes, dY -> dX: the gradient of each output goes to the pixel that it came from. An
// overload of ScatterMaxima, chosen by its last argument, does the work on the device.
template <class Context>
class RoIPoolGradientOp final : public RoIPoolBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using RoIPoolBase<Context>::RoIPoolBase;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &argmaxes = Input(2), &dY = Input(3);
    const Tensor& rois = this->CheckRegions(X);
    const int64_t count = rois.size(0);
    CAFFE_ENFORCE(dY.numel() == count * X.size(1) * this->height_ * this->width_ &&
                      argmaxes.numel() == dY.numel(),
                  "dY and argmaxes must have ", count * X.size(1) * this->height_ * this->width_,
                  " elements for X of shape ", ShapeString(X.sizes()), " and ", count,
                  " RoIs: dY has shape ", ShapeString(dY.sizes()), ", argmaxes ",
                  ShapeString(argmaxes.sizes()));
    const float* dy = dY.data<float>();
    const int* argmax = argmaxes.data<int>();
    Tensor* dX = Output(0);
    dX->ResizeLike(X);
    const auto regions = RegionsFor<PooledRegion>(rois, X.size(0), this->scale_, &context_);
    ScatterMaxima(this->GridOf(X), count, regions.data(), dX->numel(), argmax, dy,
                  dX->template mutable_data<float>(), &context_);
    return true;
  }
};

}  // namespace caffe2
