// PSRoIPool: averages of position-sensitive cells of regions of interest (Dai et al., R-FCN, NIPS
// 2016).
#pragma once

#include <vector>

#include "operators/common/copy_elements.h"
#include "operators/common/host_device_op.h"
#include "operators/detection/ps_roi_pool_functions.h"
#include "operators/detection/regions.h"

namespace caffe2 {

// Shared by the operator and its gradient: the arguments and the check of the shapes.
template <class Context>
class PSRoIPoolBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  PSRoIPoolBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        groups_(this->template GetSingleArgument<int>("group_size", 1)),
        outputs_(this->template GetSingleArgument<int>("output_dim", 1)),
        scale_(this->template GetSingleArgument<float>("spatial_scale", 1.f)) {
    CAFFE_ENFORCE(groups_ > 0, "argument group_size must be positive, found ", groups_);
    CAFFE_ENFORCE(outputs_ > 0, "argument output_dim must be positive, found ", outputs_);
    CAFFE_ENFORCE(scale_ > 0, "argument spatial_scale must be positive, found ", scale_);
  }

 protected:
  PositionGrid GridFor(const Tensor& X, const Tensor& rois) const {
    CheckRegionShapes(X, rois);
    const PositionGrid grid{outputs_, groups_, X.size(2), X.size(3)};
    CAFFE_ENFORCE(X.size(1) == grid.channels(),
                  "X must have output_dim * group_size^2 = ", grid.channels(),
                  " channels, found shape ", ShapeString(X.sizes()));
    return grid;
  }

  const int64_t groups_, outputs_;
  const float scale_;
};

template <class Context>
class PSRoIPoolOp final : public PSRoIPoolBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using PSRoIPoolBase<Context>::PSRoIPoolBase;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &rois = this->template Input<Tensor>(1);
    const PositionGrid grid = this->GridFor(X, rois);
    const std::vector<int64_t> dims{rois.size(0), grid.outputs, grid.groups, grid.groups};
    const auto regions = RegionsFor<ScaledRegion>(rois, X.size(0), this->scale_, &context_);
    const float* x = X.data<float>();
    Tensor *Y = Output(0), *channels = Output(1);
    Y->Resize(dims);
    channels->Resize(dims);
    ForEach(Y->numel(),
            PSRoIPoolCells{grid, regions.data(), x, Y->template mutable_data<float>(),
                           channels->template mutable_data<int>()},
            &context_);
    return true;
  }
};

// X, RoIs, channels, dY -> dX. A loop over channels needs no atomics: each adds to its own planes.
template <class Context>
class PSRoIPoolGradientOp final : public PSRoIPoolBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using PSRoIPoolBase<Context>::PSRoIPoolBase;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &rois = this->template Input<Tensor>(1), &dY = Input(3);
    const PositionGrid grid = this->GridFor(X, rois);
    const int64_t count = rois.size(0);
    CAFFE_ENFORCE(dY.numel() == count * grid.channels(), "dY must have ", count * grid.channels(),
                  " elements for X of shape ", ShapeString(X.sizes()), " and ", count,
                  " RoIs, found shape ", ShapeString(dY.sizes()));
    const float* dy = dY.data<float>();
    const auto regions = RegionsFor<ScaledRegion>(rois, X.size(0), this->scale_, &context_);
    Tensor* dX = Output(0);
    dX->ResizeLike(X);
    auto* dx = dX->template mutable_data<float>();
    ClearBytes(dX->nbytes(), dx, &context_);
    ForEach(grid.channels(), PSRoIPoolGradientPlanes{grid, count, regions.data(), dy, dx},
            &context_);
    return true;
  }
};

}  // namespace caffe2
