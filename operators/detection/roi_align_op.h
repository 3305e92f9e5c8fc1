// RoIAlign: averages of bilinear samples over the cells of regions (He et al., Mask R-CNN, 2017),
// and RoIAlignRotated, for rotated regions.
#pragma once

#include <vector>

#include "caffe2/core/device_backend.h"
#include "operators/conv/conv_pool_shape.h"
#include "operators/detection/roi_align_functions.h"

namespace caffe2 {

// Arguments and regions of RoIAlign.
class RegionReader {
 public:
  RegionReader(const OperatorBase& op, bool rotated, StorageOrder order);

  // The layout of the images X. Throws EnforceNotMet unless X and rois have the right shapes.
  ImageLayout CheckShapes(const Tensor& X, const Tensor& rois) const;
  ImageLayout LayoutOf(const std::vector<int64_t>& dims) const;
  std::vector<int64_t> OutputDims(const ImageLayout& x, int64_t regions) const;
  // The regions, read from host memory. Throws EnforceNotMet for a wrong region (RegionProblem).
  std::vector<RegionGrid> Read(const ImageLayout& x, const Tensor& rois) const;
  // The parser that functors of a device use to read regions.
  RegionParser ParserOf(const ImageLayout& x, const Tensor& rois) const;
  bool rotated() const { return rotated_; }

 private:
  int64_t box_size() const { return rotated_ ? 5 : 4; }

  bool rotated_;
  StorageOrder order_;
  int64_t height_, width_;
  int ratio_;
  float scale_;
  bool aligned_;
};

// Throws EnforceNotMet for a problem that RegionParser or PooledRegion found in a region.
[[noreturn]] void ThrowRegion(int problem, int64_t region, double value, int64_t images);

// The samples of a region. Cell i has the samples [i * per_cell, (i + 1) * per_cell); an average is
// their weighted sum.
std::vector<RegionSample> SamplesOf(const ImageLayout& x, const RegionGrid& region);

// Documents the arguments except `order`.
void DescribeRoIAlign(OpSchema& schema);
// Shape inference for images in this order.
std::vector<TensorShape> InferRoIAlign(const OperatorDef& def, const std::vector<TensorShape>& in,
                                       StorageOrder order);

// X, RoIs -> Y: the average of the samples of each cell. An overload of AlignRegions, chosen by its
// last argument, does the work on the device; `in` and `out` are the layouts of x and y.
template <class Context, bool kRotated>
class RoIAlignOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  RoIAlignOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        reader_(*this, kRotated, ReadStorageOrder(ArgumentHelper(def))) {}
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const auto& R = this->template Input<Tensor>(1);
    const ImageLayout in = reader_.CheckShapes(X, R);
    const float* x = X.data<float>();
    Output(0)->Resize(reader_.OutputDims(in, R.size(0)));
    AlignRegions(reader_, in, reader_.LayoutOf(Output(0)->sizes()), R, x,
                 Output(0)->template mutable_data<float>(), &context_);
    return true;
  }

 private:
  RegionReader reader_;
};

// X, RoIs, dY -> dX: each pixel of X gets the gradients of the cells that sampled it, times its
// weights there. ScatterRegions of the device does the work.
template <class Context, bool kRotated>
class RoIAlignGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  RoIAlignGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        reader_(*this, kRotated, ReadStorageOrder(ArgumentHelper(def))) {}
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &dY = Input(2);
    const auto& R = this->template Input<Tensor>(1);
    const ImageLayout in = reader_.CheckShapes(X, R);
    CAFFE_ENFORCE(dY.sizes() == reader_.OutputDims(in, R.size(0)), "dY must have the shape of Y, ",
                  ShapeString(reader_.OutputDims(in, R.size(0))), "; found ",
                  ShapeString(dY.sizes()));
    const float* dy = dY.data<float>();
    Output(0)->ResizeLike(X);
    ScatterRegions(reader_, in, reader_.LayoutOf(dY.sizes()), R, dy,
                   Output(0)->template mutable_data<float>(), &context_);
    return true;
  }

 private:
  RegionReader reader_;
};

}  // namespace caffe2
