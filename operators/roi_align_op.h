// RoIAlign: averages of bilinear samples over the cells of regions (He et al., Mask R-CNN, 2017),
// and RoIAlignRotated, whose regions are turned.
#pragma once

#include <vector>

#include "caffe2/core/operator.h"
#include "operators/conv_pool_shape.h"

namespace caffe2 {

// Where the pixels of a batch of images lie: channel c of pixel i of image n is at
// (n * channels * area) + c * channel_stride + i * pixel_stride.
struct ImageLayout {
  int64_t batch = 0, channels = 0, height = 0, width = 0;
  int64_t channel_stride = 0, pixel_stride = 0;

  int64_t area() const { return height * width; }
  int64_t image_size() const { return channels * area(); }
  static ImageLayout Of(const std::vector<int64_t>& dims, StorageOrder order) {
    if (order == StorageOrder::kNHWC) return {dims[0], dims[3], dims[1], dims[2], 1, dims[3]};
    return {dims[0], dims[1], dims[2], dims[3], dims[2] * dims[3], 1};
  }
};

// Where a region and its samples lie: u runs along its width from u on, v along its height from v
// on, and (u, v) is the point (x + u cosine + v sine, y + v cosine - u sine).
struct RegionFrame {
  int64_t image = 0;
  float u = 0, v = 0, width = 0, height = 0;
  float x = 0, y = 0, cosine = 1, sine = 0;
};

// One bilinear sample: four pixels and their weights.
struct RegionSample {
  int64_t pixel[4];
  float weight[4];
};

// The samples of one region: those of cell i are [i * per_cell, (i + 1) * per_cell); an average is
// their weighted sum.
struct RegionSamples {
  int64_t image = 0, cells = 0, per_cell = 0;
  std::vector<RegionSample> samples;
};

class RoIAlignBase : public Operator<CPUContext> {
 public:
  RoIAlignBase(const OperatorDef& def, Workspace* ws, bool rotated, StorageOrder order);

 protected:
  StorageOrder order() const { return order_; }
  int64_t cells() const { return height_ * width_; }
  // The layout of images X; throws unless there are images and regions.
  ImageLayout CheckShapes(const Tensor& X, const Tensor& rois) const {
    CAFFE_ENFORCE_EQ(X.dim(), 4, "X ", ShapeString(X.sizes()), " must have four axes");
    CAFFE_ENFORCE(rois.dim() == 2 && (rois.size(1) == box_size() || rois.size(1) == box_size() + 1),
                  "RoIs ", ShapeString(rois.sizes()), " must be R x ", box_size() + 1, ", or R x ",
                  box_size(), " of image 0");
    return ImageLayout::Of(X.sizes(), order_);
  }
  std::vector<int64_t> OutputDims(const ImageLayout& x, int64_t regions) const {
    if (order_ == StorageOrder::kNHWC) return {regions, height_, width_, x.channels};
    return {regions, x.channels, height_, width_};
  }
  RegionSamples SamplesOf(const ImageLayout& x, const Tensor& rois, int64_t index) const;

 private:
  int64_t box_size() const { return rotated_ ? 5 : 4; }
  RegionFrame FrameOf(const ImageLayout& x, const Tensor& rois, int64_t index) const;
  static RegionSample SampleAt(const ImageLayout& x, float row, float column, float weight);

  bool rotated_;
  StorageOrder order_;
  int64_t height_, width_;
  int ratio_;
  float scale_;
  bool aligned_;
};

// The documentation of the arguments but `order`.
void DescribeRoIAlign(OpSchema& schema);
// Shape inference for images in this order.
std::vector<TensorShape> InferRoIAlign(const OperatorDef& def, const std::vector<TensorShape>& in,
                                       StorageOrder order);

}  // namespace caffe2
