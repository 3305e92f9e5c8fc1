#include "operators/roi_align_op.h"

#include <cmath>

#include "caffe2/utils/parallel.h"
#include "operators/element_type.h"
#include "operators/gradient_rule.h"

namespace caffe2 {
namespace {

constexpr int64_t kMostSamples = int64_t{1} << 26;  // of a region
constexpr float kFarthest = 1e7f;                   // corner, in pixels of the scaled image
constexpr double kRadians = 0.017453292519943295;   // a degree

}  // namespace

RoIAlignBase::RoIAlignBase(const OperatorDef& def, Workspace* ws, bool rotated, StorageOrder order)
    : Operator<CPUContext>(def, ws),
      rotated_(rotated),
      order_(order),
      height_(GetSingleArgument<int>("pooled_h", 1)),
      width_(GetSingleArgument<int>("pooled_w", 1)),
      ratio_(GetSingleArgument<int>("sampling_ratio", -1)),
      scale_(GetSingleArgument<float>("spatial_scale", 1.f)),
      aligned_(GetSingleArgument<bool>("aligned", false)) {
  CAFFE_ENFORCE_GT(height_, 0, "the argument pooled_h");
  CAFFE_ENFORCE_GT(width_, 0, "the argument pooled_w");
  CAFFE_ENFORCE_GT(scale_, 0, "the argument spatial_scale");
}

RegionFrame RoIAlignBase::FrameOf(const ImageLayout& x, const Tensor& rois, int64_t index) const {
  const float* roi = rois.data<float>() + index * rois.size(1);
  RegionFrame frame;
  if (rois.size(1) > box_size()) {
    CAFFE_ENFORCE(roi[0] >= 0 && roi[0] < static_cast<float>(x.batch), "region ", index,
                  " of image ", roi[0], " of ", x.batch);
    frame.image = static_cast<int64_t>(*roi++);
  } else {
    CAFFE_ENFORCE_GT(x.batch, 0, "images");
  }
  const float offset = aligned_ ? 0.5f : 0.f;
  float number[4];  // two corners, or the centre and the sides
  for (int k = 0; k < 4; ++k) {
    number[k] = roi[k] * scale_ - (rotated_ && k >= 2 ? 0 : offset);
    CAFFE_ENFORCE(std::fabs(number[k]) < kFarthest, "region ", index, " has a corner at ", roi[k]);
  }
  frame.width = rotated_ ? number[2] : number[2] - number[0];
  frame.height = rotated_ ? number[3] : number[3] - number[1];
  if (aligned_) {
    CAFFE_ENFORCE(frame.width >= 0 && frame.height >= 0, "region ", index, " is ", frame.width,
                  " wide and ", frame.height, " high");
  } else {  // as Caffe2 did first: at least one pixel
    frame.width = std::max(frame.width, 1.f);
    frame.height = std::max(frame.height, 1.f);
  }
  frame.u = rotated_ ? -frame.width / 2 : number[0];
  frame.v = rotated_ ? -frame.height / 2 : number[1];
  if (rotated_) {
    const double angle = roi[4] * kRadians;
    CAFFE_ENFORCE(std::isfinite(angle), "region ", index, " is turned by ", roi[4]);
    frame.x = number[0];
    frame.y = number[1];
    frame.cosine = static_cast<float>(std::cos(angle));
    frame.sine = static_cast<float>(std::sin(angle));
  }
  return frame;
}

RegionSamples RoIAlignBase::SamplesOf(const ImageLayout& x, const Tensor& rois,
                                      int64_t index) const {
  const RegionFrame frame = FrameOf(x, rois, index);
  const float cell_h = frame.height / static_cast<float>(height_);
  const float cell_w = frame.width / static_cast<float>(width_);
  const int64_t grid_h = ratio_ > 0 ? ratio_ : static_cast<int64_t>(std::ceil(cell_h));
  const int64_t grid_w = ratio_ > 0 ? ratio_ : static_cast<int64_t>(std::ceil(cell_w));
  RegionSamples region;
  region.image = frame.image;
  region.cells = cells();
  region.per_cell = grid_h * grid_w;
  CAFFE_ENFORCE_LE(CheckedNumel({cells(), region.per_cell}), kMostSamples, "samples of region ",
                   index);
  region.samples.reserve(cells() * region.per_cell);
  const float share = 1.f / static_cast<float>(std::max<int64_t>(region.per_cell, 1));
  const auto place = [](float begin, int64_t cell, float size, int64_t i, int64_t n) {
    return begin + static_cast<float>(cell) * size +
           (static_cast<float>(i) + 0.5f) * size / static_cast<float>(n);
  };
  for (int64_t cell = 0; cell < cells(); ++cell) {
    for (int64_t i = 0; i < grid_h; ++i) {
      const float v = place(frame.v, cell / width_, cell_h, i, grid_h);
      for (int64_t j = 0; j < grid_w; ++j) {
        const float u = place(frame.u, cell % width_, cell_w, j, grid_w);
        region.samples.push_back(SampleAt(x, frame.y + v * frame.cosine - u * frame.sine,
                                          frame.x + u * frame.cosine + v * frame.sine, share));
      }
    }
  }
  return region;
}

// Up to one pixel outside counts as on the edge; farther out there is nothing.
RegionSample RoIAlignBase::SampleAt(const ImageLayout& x, float row, float column, float weight) {
  RegionSample sample{};
  if (row < -1 || row > static_cast<float>(x.height) || column < -1 ||
      column > static_cast<float>(x.width) || x.area() == 0) {
    return sample;
  }
  const auto split = [](float at, int64_t size, int64_t* low, int64_t* high) {
    at = std::max(at, 0.f);
    *low = std::min(static_cast<int64_t>(at), size - 1);
    *high = std::min(*low + 1, size - 1);
    return *low == size - 1 ? 0.f : at - static_cast<float>(*low);
  };
  int64_t top = 0, bottom = 0, left = 0, right = 0;
  const float down = split(row, x.height, &top, &bottom);
  const float along = split(column, x.width, &left, &right);
  const int64_t pixels[] = {top * x.width + left, top * x.width + right, bottom * x.width + left,
                            bottom * x.width + right};
  const float weights[] = {(1 - down) * (1 - along), (1 - down) * along, down * (1 - along),
                           down * along};
  for (int k = 0; k < 4; ++k) {
    sample.pixel[k] = pixels[k] * x.pixel_stride;
    sample.weight[k] = weight * weights[k];
  }
  return sample;
}

void DescribeRoIAlign(OpSchema& schema) {
  schema.Arg("pooled_h", "(int > 0, default 1) Rows of cells.")
      .Arg("pooled_w", "(int > 0, default 1) Columns of cells.")
      .Arg("spatial_scale", "(float > 0, default 1) Pixels of X for one unit of the regions.")
      .Arg("sampling_ratio",
           "(int, default -1) Samples of a cell in each direction. Not positive: as many as it has "
           "pixels, rounded up.")
      .Arg("aligned",
           "(bool, default 0) 1: pixel i is centred at i + 0.5, and regions may be smaller than a "
           "pixel; 0: at i, and they are made as large as one.");
}

std::vector<TensorShape> InferRoIAlign(const OperatorDef& def, const std::vector<TensorShape>& in,
                                       StorageOrder order) {
  const ArgumentHelper arguments(def);
  CAFFE_ENFORCE(in[0].dims_size() == 4 && in[1].dims_size() == 2, "X ",
                ShapeString(GetDimsVector(in[0])), " and RoIs ", ShapeString(GetDimsVector(in[1])));
  const bool channels_last = order == StorageOrder::kNHWC;
  std::vector<int64_t> dims{in[1].dims(0), arguments.GetSingleArgument<int>("pooled_h", 1),
                            arguments.GetSingleArgument<int>("pooled_w", 1)};
  dims.insert(channels_last ? dims.end() : dims.begin() + 1, in[0].dims(channels_last ? 3 : 1));
  return std::vector<TensorShape>{CreateTensorShape(dims, in[0].data_type())};
}

namespace {

template <bool kRotated>
class RoIAlignOp final : public RoIAlignBase {
 public:
  RoIAlignOp(const OperatorDef& def, Workspace* ws)
      : RoIAlignBase(def, ws, kRotated, ReadStorageOrder(ArgumentHelper(def))) {}
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &R = Input(1);
    const ImageLayout in = CheckShapes(X, R);
    Output(0)->Resize(OutputDims(in, R.size(0)));
    const ImageLayout out = ImageLayout::Of(Output(0)->sizes(), order());
    const float* x = X.data<float>();
    float* y = Output(0)->mutable_data<float>();
    ParallelFor(R.size(0), 1, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const RegionSamples region = SamplesOf(in, R, r);
        const float* image = x + region.image * in.image_size();
        for (int64_t c = 0; c < in.channels; ++c) {
          Average(region, image + c * in.channel_stride, out.pixel_stride,
                  y + r * out.image_size() + c * out.channel_stride);
        }
      }
    });
    return true;
  }

 private:
  // The averages of all cells in one channel.
  static void Average(const RegionSamples& region, const float* x, int64_t y_stride, float* y) {
    const RegionSample* sample = region.samples.data();
    for (int64_t cell = 0; cell < region.cells; ++cell) {
      float sum = 0;
      for (int64_t i = 0; i < region.per_cell; ++i, ++sample) {
        for (int k = 0; k < 4; ++k) sum += sample->weight[k] * x[sample->pixel[k]];
      }
      y[cell * y_stride] = sum;
    }
  }
};

// Each pixel of X gets the gradients of the cells it was sampled for, times its weights there.
template <bool kRotated>
class RoIAlignGradientOp final : public RoIAlignBase {
 public:
  RoIAlignGradientOp(const OperatorDef& def, Workspace* ws)
      : RoIAlignBase(def, ws, kRotated, ReadStorageOrder(ArgumentHelper(def))) {}
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &R = Input(1), &dY = Input(2);
    const ImageLayout in = CheckShapes(X, R);
    CAFFE_ENFORCE(dY.sizes() == OutputDims(in, R.size(0)), "gradient ", ShapeString(dY.sizes()),
                  " for X ", ShapeString(X.sizes()), " and RoIs ", ShapeString(R.sizes()));
    const ImageLayout out = ImageLayout::Of(dY.sizes(), order());
    const float* dy = dY.data<float>();
    Output(0)->ResizeLike(X);
    float* dx = Output(0)->mutable_data<float>();
    std::fill_n(dx, X.numel(), 0.f);
    for (int64_t r = 0; r < R.size(0); ++r) {
      const RegionSamples region = SamplesOf(in, R, r);
      // A channel belongs to one thread, so that sums do not depend on the threads.
      const int64_t work = std::max<int64_t>(1, static_cast<int64_t>(region.samples.size()));
      ParallelFor(in.channels, std::max<int64_t>(1, kElementwiseGrain / work),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t c = begin; c < end; ++c) {
                      Scatter(region, dy + r * out.image_size() + c * out.channel_stride,
                              out.pixel_stride,
                              dx + region.image * in.image_size() + c * in.channel_stride);
                    }
                  });
    }
    return true;
  }

 private:
  static void Scatter(const RegionSamples& region, const float* dy, int64_t y_stride, float* dx) {
    for (size_t i = 0; i < region.samples.size(); ++i) {
      const RegionSample& sample = region.samples[i];
      const float g = dy[static_cast<int64_t>(i) / region.per_cell * y_stride];
      for (int k = 0; k < 4; ++k) dx[sample.pixel[k]] += sample.weight[k] * g;
    }
  }
};

void Arguments(OpSchema& schema) {
  schema.Arg("order", "(string, default NCHW) NCHW or NHWC.").FillUsing(DescribeRoIAlign);
}

std::vector<TensorShape> InferAlign(const OperatorDef& def, const std::vector<TensorShape>& in) {
  return InferRoIAlign(def, in, ReadStorageOrder(ArgumentHelper(def)));
}

void DescribeAlign(OpSchema& schema) {
  schema.NumInputs(2)
      .NumOutputs(1)
      .TensorInferenceFunction(InferAlign)
      .FillUsing(Arguments)
      .Input(0, "X", "A float tensor N x C x H x W (NCHW) or N x H x W x C (NHWC).")
      .Output(0, "Y", "R x C x pooled_h x pooled_w, or R x pooled_h x pooled_w x C.");
}
void DescribeAlignGradient(OpSchema& schema) {
  schema.NumInputs(3)
      .NumOutputs(1)
      .IdenticalTypeAndShapeOfInput(0)
      .FillUsing(Arguments)
      .Input(0, "X", "As in the forward operator; its shape counts.")
      .Input(1, "RoIs", "As in the forward operator.")
      .Input(2, "dY", "The gradient of Y.")
      .Output(0, "dX", "The gradient of X.");
}

}  // namespace

REGISTER_CPU_OPERATOR(RoIAlign, RoIAlignOp<false>);
REGISTER_CPU_OPERATOR(RoIAlignGradient, RoIAlignGradientOp<false>);
REGISTER_CPU_OPERATOR(RoIAlignRotated, RoIAlignOp<true>);
REGISTER_CPU_OPERATOR(RoIAlignRotatedGradient, RoIAlignGradientOp<true>);
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
        "As RoIAlign, of regions that are turned about their centres. The cells are those of the "
        "upright region, turned with it.")
    .Input(1, "RoIs",
           "Float R x 6: image index, x, y, width, height and angle of each region, of its centre "
           "and in degrees counter-clockwise; or R x 5, of image 0.");
OPERATOR_SCHEMA(RoIAlignGradient)
    .FillUsing(DescribeAlignGradient)
    .SetDoc("The gradient of RoIAlign for X; the regions get none.");
OPERATOR_SCHEMA(RoIAlignRotatedGradient)
    .FillUsing(DescribeAlignGradient)
    .SetDoc("The gradient of RoIAlignRotated for X; the regions get none.");
REGISTER_GRADIENT(RoIAlign, GradientRule<"I0 I1 GO0 -> GI0">);
REGISTER_GRADIENT(RoIAlignRotated, GradientRule<"I0 I1 GO0 -> GI0">);

}  // namespace caffe2
