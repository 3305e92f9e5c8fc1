#include "operators/detection/roi_align_op.h"

#include <cmath>

#include "operators/common/element_type.h"
#include "operators/common/gradient_rule.h"

namespace caffe2 {
RegionReader::RegionReader(const OperatorBase& op, bool rotated, StorageOrder order)
    : rotated_(rotated),
      order_(order),
      height_(op.GetSingleArgument<int>("pooled_h", 1)),
      width_(op.GetSingleArgument<int>("pooled_w", 1)),
      ratio_(op.GetSingleArgument<int>("sampling_ratio", -1)),
      scale_(op.GetSingleArgument<float>("spatial_scale", 1.f)),
      aligned_(op.GetSingleArgument<bool>("aligned", false)) {
  CAFFE_ENFORCE(height_ > 0, "argument pooled_h must be positive, found ", height_);
  CAFFE_ENFORCE(width_ > 0, "argument pooled_w must be positive, found ", width_);
  CAFFE_ENFORCE(scale_ > 0, "argument spatial_scale must be positive, found ", scale_);
}

ImageLayout RegionReader::LayoutOf(const std::vector<int64_t>& dims) const {
  if (order_ == StorageOrder::kNHWC) return {dims[0], dims[3], dims[1], dims[2], 1, dims[3]};
  return {dims[0], dims[1], dims[2], dims[3], dims[2] * dims[3], 1};
}

ImageLayout RegionReader::CheckShapes(const Tensor& X, const Tensor& rois) const {
  CAFFE_ENFORCE(X.dim() == 4, "X must have four axes, found shape ", ShapeString(X.sizes()));
  CAFFE_ENFORCE(rois.dim() == 2 && (rois.size(1) == box_size() || rois.size(1) == box_size() + 1),
                "RoIs must be R x ", box_size() + 1, ", or R x ", box_size(),
                " of image 0; found shape ", ShapeString(rois.sizes()));
  return LayoutOf(X.sizes());
}

std::vector<int64_t> RegionReader::OutputDims(const ImageLayout& x, int64_t regions) const {
  if (order_ == StorageOrder::kNHWC) return {regions, height_, width_, x.channels};
  return {regions, x.channels, height_, width_};
}

RegionParser RegionReader::ParserOf(const ImageLayout& x, const Tensor& rois) const {
  const bool names_image = rois.size(1) > box_size();
  CAFFE_ENFORCE(names_image || x.batch > 0 || rois.size(0) == 0, "there are ", rois.size(0),
                " regions, but X has no images");
  return {rotated_, aligned_, names_image, x.batch, height_, width_, ratio_, scale_};
}

std::vector<RegionGrid> RegionReader::Read(const ImageLayout& x, const Tensor& rois) const {
  const RegionParser parser = ParserOf(x, rois);
  std::vector<RegionGrid> regions(rois.size(0));
  for (int64_t r = 0; r < rois.size(0); ++r) {
    double value = 0;
    const RegionProblem problem =
        parser.Read(rois.data<float>() + r * parser.numbers(), &regions[r], &value);
    if (problem != kRegionFine) ThrowRegion(problem, r, value, x.batch);
  }
  return regions;
}

void ThrowRegion(int problem, int64_t region, double value, int64_t images) {
  switch (problem) {
    case kRegionImage:
      CAFFE_THROW("region ", region, " is in image ", value, ", but there are ", images, " images");
    case kRegionCorner:
      CAFFE_THROW("region ", region, " has a corner at ", value,
                  ", which is not finite or too far away");
    case kRegionSide:
      CAFFE_THROW("region ", region, " has a side of ", value, ", which is negative");
    case kRegionAngle:
      CAFFE_THROW("region ", region, " is rotated by ", value, ", which is not a finite angle");
    default:
      CAFFE_THROW("region ", region, " has too many samples: ", value);
  }
}

std::vector<RegionSample> SamplesOf(const ImageLayout& x, const RegionGrid& region) {
  std::vector<RegionSample> samples;
  const int64_t cells = region.rows * region.columns;
  samples.reserve(cells * region.per_cell());
  for (int64_t cell = 0; cell < cells; ++cell) {
    for (int64_t i = 0; i < region.grid_h; ++i) {
      for (int64_t j = 0; j < region.grid_w; ++j) samples.push_back(region.At(x, cell, i, j));
    }
  }
  return samples;
}

namespace {

// The averages of all cells in one channel.
void Average(const RegionGrid& region, const std::vector<RegionSample>& samples, const float* x,
             int64_t y_stride, float* y) {
  const RegionSample* sample = samples.data();
  for (int64_t cell = 0; cell < region.rows * region.columns; ++cell) {
    float sum = 0;
    for (int64_t i = 0; i < region.per_cell(); ++i, ++sample) {
      for (int k = 0; k < 4; ++k) sum += sample->weight[k] * x[sample->pixel[k]];
    }
    y[cell * y_stride] = sum;
  }
}

void Scatter(const RegionGrid& region, const std::vector<RegionSample>& samples, const float* dy,
             int64_t y_stride, float* dx) {
  for (size_t i = 0; i < samples.size(); ++i) {
    const float g = dy[static_cast<int64_t>(i) / region.per_cell() * y_stride];
    for (int k = 0; k < 4; ++k) dx[samples[i].pixel[k]] += samples[i].weight[k] * g;
  }
}

}  // namespace

static void AlignRegions(const RegionReader& reader, const ImageLayout& in, const ImageLayout& out,
                         const Tensor& rois, const float* x, float* y, CPUContext* /*context*/) {
  const std::vector<RegionGrid> regions = reader.Read(in, rois);
  if (in.area() == 0) {  // there is no pixel to read
    std::fill_n(y, out.batch * out.image_size(), 0.f);
    return;
  }
  ParallelFor(out.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const std::vector<RegionSample> samples = SamplesOf(in, regions[r]);
      const float* image = x + regions[r].frame.image * in.image_size();
      for (int64_t c = 0; c < in.channels; ++c) {
        Average(regions[r], samples, image + c * in.channel_stride, out.pixel_stride,
                y + r * out.image_size() + c * out.channel_stride);
      }
    }
  });
}

static void ScatterRegions(const RegionReader& reader, const ImageLayout& in,
                           const ImageLayout& out, const Tensor& rois, const float* dy, float* dx,
                           CPUContext* /*context*/) {
  const std::vector<RegionGrid> regions = reader.Read(in, rois);
  std::fill_n(dx, in.batch * in.image_size(), 0.f);
  if (in.area() == 0) return;
  for (int64_t r = 0; r < out.batch; ++r) {
    const std::vector<RegionSample> samples = SamplesOf(in, regions[r]);
    // One thread handles a channel, so that sums do not depend on the threads.
    ParallelFor(in.channels, RowGrain(static_cast<int64_t>(samples.size())),
                [&](int64_t begin, int64_t end) {
                  for (int64_t c = begin; c < end; ++c) {
                    Scatter(regions[r], samples, dy + r * out.image_size() + c * out.channel_stride,
                            out.pixel_stride,
                            dx + regions[r].frame.image * in.image_size() + c * in.channel_stride);
                  }
                });
  }
}

void DescribeRoIAlign(OpSchema& schema) {
  schema.Arg<int>("pooled_h", "(> 0, default 1) Rows of cells.")
      .Arg<int>("pooled_w", "(> 0, default 1) Columns of cells.")
      .Arg<float>("spatial_scale", "(> 0, default 1) Pixels of X for one unit of the regions.")
      .Arg<int>("sampling_ratio",
                "(default -1) Samples of a cell in each direction. 0 or negative: the number of "
                "its pixels, rounded up.")
      .Arg<bool>("aligned",
                 "(default 0) 1: pixel i is centred at i + 0.5, and regions may be smaller than a "
                 "pixel. 0: pixel i is centred at i, and smaller regions are enlarged to a pixel.");
}

std::vector<TensorShape> InferRoIAlign(const OperatorDef& def, const std::vector<TensorShape>& in,
                                       StorageOrder order) {
  const ArgumentHelper arguments(def);
  CAFFE_ENFORCE(in[0].dims_size() == 4 && in[1].dims_size() == 2,
                "X must have four axes and RoIs two: X has shape ",
                ShapeString(GetDimsVector(in[0])), ", RoIs ", ShapeString(GetDimsVector(in[1])));
  const bool channels_last = order == StorageOrder::kNHWC;
  std::vector<int64_t> dims{in[1].dims(0), arguments.GetSingleArgument<int>("pooled_h", 1),
                            arguments.GetSingleArgument<int>("pooled_w", 1)};
  dims.insert(channels_last ? dims.end() : dims.begin() + 1, in[0].dims(channels_last ? 3 : 1));
  return std::vector<TensorShape>{CreateTensorShape(dims, in[0].data_type())};
}

namespace {

void RoIAlignArguments(OpSchema& schema) { schema.ArgOrder().FillUsing(DescribeRoIAlign); }

std::vector<TensorShape> InferAlign(const OperatorDef& def, const std::vector<TensorShape>& in) {
  return InferRoIAlign(def, in, ReadStorageOrder(ArgumentHelper(def)));
}

void DescribeAlign(OpSchema& schema) {
  schema.NumInputs(2)
      .NumOutputs(1)
      .TensorInferenceFunction(InferAlign)
      .FillUsing(RoIAlignArguments)
      .Input(0, "X", "A float tensor N x C x H x W (NCHW) or N x H x W x C (NHWC).")
      .Output(0, "Y", "R x C x pooled_h x pooled_w, or R x pooled_h x pooled_w x C.");
}
void DescribeAlignGradient(OpSchema& schema) {
  schema.NumInputs(3)
      .NumOutputs(1)
      .IdenticalTypeAndShapeOfInput(0)
      .FillUsing(RoIAlignArguments)
      .Input(0, "X", "As in the forward operator. Only its shape is used.")
      .Input(1, "RoIs", "As in the forward operator.")
      .Input(2, "dY", "The gradient of Y.")
      .Output(0, "dX", "The gradient of X.");
}

}  // namespace

template <bool kRotated>
using CpuRoIAlignOp = RoIAlignOp<CPUContext, kRotated>;
template <bool kRotated>
using CpuRoIAlignGradientOp = RoIAlignGradientOp<CPUContext, kRotated>;

REGISTER_CPU_OPERATOR(RoIAlign, CpuRoIAlignOp<false>);
REGISTER_CPU_OPERATOR(RoIAlignGradient, CpuRoIAlignGradientOp<false>);
REGISTER_CPU_OPERATOR(RoIAlignRotated, CpuRoIAlignOp<true>);
REGISTER_CPU_OPERATOR(RoIAlignRotatedGradient, CpuRoIAlignGradientOp<true>);
OPERATOR_SCHEMA(RoIAlign)
    .FillUsing(DescribeAlign)
    .SetDoc(
        "Divides each region into pooled_h x pooled_w cells and averages, for each channel, "
        "bilinear samples of each (He et al., \"Mask R-CNN\", ICCV 2017). Nothing is rounded to "
        "whole pixels; samples outside of the image count as 0.")
    .Input(1, "RoIs",
           "Float R x 5: image index, x1, y1, x2, y2 of each region; or R x 4, of image 0.");
OPERATOR_SCHEMA(RoIAlignRotated)
    .FillUsing(DescribeAlign)
    .SetDoc(
        "RoIAlign for regions that are rotated about their centres. The cells of the upright "
        "region rotate with it.")
    .Input(1, "RoIs",
           "Float R x 6: image index, x and y of the centre, width, height and angle in degrees "
           "counter-clockwise of each region; or R x 5, for image 0.");
OPERATOR_SCHEMA(RoIAlignGradient)
    .FillUsing(DescribeAlignGradient)
    .SetDoc("The gradient of RoIAlign for X; the regions get none.");
OPERATOR_SCHEMA(RoIAlignRotatedGradient)
    .FillUsing(DescribeAlignGradient)
    .SetDoc("The gradient of RoIAlignRotated for X; the regions get none.");
REGISTER_GRADIENT(RoIAlign, GradientRule<"I0 I1 GO0 -> GI0">);
REGISTER_GRADIENT(RoIAlignRotated, GradientRule<"I0 I1 GO0 -> GI0">);

}  // namespace caffe2
