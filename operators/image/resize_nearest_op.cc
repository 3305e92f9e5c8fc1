// ResizeNearest, UpsampleNearest and their gradients on the CPU.
#include "operators/image/resize_nearest_op.h"

#include <limits>

#include "operators/common/gradient_rule.h"

namespace caffe2 {
namespace {

// The source index of each of `count` places of an axis that becomes `scale` times as long.
std::vector<int64_t> MapAxis(int64_t count, int64_t size, float scale) {
  std::vector<int64_t> map(count);
  for (size_t i = 0; i < map.size(); ++i) {
    map[i] = std::min(static_cast<int64_t>(static_cast<float>(i) / scale), size - 1);
  }
  return map;
}

}  // namespace

ResizeShape::ResizeShape(const std::vector<int64_t>& dims, StorageOrder order,
                         const char* height_argument, float height_scale,
                         const char* width_argument, float width_scale)
    : planes(PixelPlanes::Make(dims, order)) {
  const int64_t height = ScaledSize(height_argument, planes.height, height_scale),
                width = ScaledSize(width_argument, planes.width, width_scale);
  map.rows = MapAxis(height, planes.height, height_scale);
  map.columns = MapAxis(width, planes.width, width_scale);
  SetOutput(dims, order);
}

ResizeShape::ResizeShape(const std::vector<int64_t>& dims, StorageOrder order, int64_t height,
                         int64_t width)
    : planes(PixelPlanes::Make(dims, order)) {
  constexpr int64_t kMaxPixels = std::numeric_limits<int32_t>::max();
  CAFFE_ENFORCE(height > 0 && height <= kMaxPixels && width > 0 && width <= kMaxPixels,
                "the output must be from 1 to ", kMaxPixels, " pixels high and wide, found ",
                height, " x ", width);
  CAFFE_ENFORCE(planes.height > 0 && planes.width > 0, "the images of shape ", ShapeString(dims),
                " have no pixels");
  const auto scale = [](int64_t to, int64_t from) {
    return static_cast<float>(to) / static_cast<float>(from);
  };
  map.rows = MapAxis(height, planes.height, scale(height, planes.height));
  map.columns = MapAxis(width, planes.width, scale(width, planes.width));
  SetOutput(dims, order);
}

void ResizeShape::SetOutput(const std::vector<int64_t>& dims, StorageOrder order) {
  ImageShape image = ImageShape::FromDims(dims, order);
  image.spatial = {static_cast<int64_t>(map.rows.size()), static_cast<int64_t>(map.columns.size())};
  output = image.ToDims(order);
}

namespace {

template <class Scale>
std::vector<TensorShape> InferResize(const OperatorDef& def,
                                     const std::vector<TensorShape>& inputs) {
  if (inputs[0].unknown_shape() || inputs.size() > 1) return {UnknownTensorShape()};
  const ResizeShape shape = Scale::Make(ArgumentHelper(def), nullptr, GetDimsVector(inputs[0]));
  return {CreateTensorShape(shape.output, inputs[0].data_type())};
}

void DescribeScales(OpSchema& schema) {
  schema.NumOutputs(1).FillUsing(ImageScales::Describe).ArgOrder();
}

void DescribeInteger(OpSchema& schema) {
  schema.NumOutputs(1)
      .Arg<int>("scale", "(> 0, default 2) The factor by which Y is higher and wider than X.")
      .ArgOrder();
}

using ResizeNearest = ResizeOp<CPUContext, ByScales>;
REGISTER_CPU_OPERATOR(ResizeNearest, ResizeNearest);
OPERATOR_SCHEMA(ResizeNearest)
    .NumInputs(1, 2)
    .FillUsing(DescribeScales)
    .TensorInferenceFunction(InferResize<ByScales>)
    .Input(0, "X",
           "N x C x H x W (NCHW) or N x H x W x C (NHWC), float or bfloat16; on CUDA devices also "
           "float16.")
    .Input(1, "scales", "Optional: height_scale and width_scale, floats, instead of arguments.")
    .Output(0, "Y", "The same with floor(H * height_scale) rows of floor(W * width_scale) pixels.")
    .SetDoc(
        "Resizes images: row i of Y is row floor(i / height_scale) of X, columns likewise. "
        "Semantics are Caffe2's.");
REGISTER_GRADIENT(ResizeNearest, GetScaledImageGradient);

using ResizeNearestGradient = ResizeGradientOp<CPUContext, ByScales>;
REGISTER_CPU_OPERATOR(ResizeNearestGradient, ResizeNearestGradient);
OPERATOR_SCHEMA(ResizeNearestGradient)
    .NumInputs(2, 3)
    .FillUsing(DescribeScales)
    .IdenticalTypeAndShapeOfInput(1)
    .Input(0, "dY", "Gradient of Y.")
    .Input(1, "X", "The forward operator's input, for its shape.")
    .Input(2, "scales", "Optional: as in the forward operator.")
    .Output(0, "dX", "Gradient of X: a pixel gets the sum over its copies.")
    .SetDoc("Gradient of ResizeNearest.");
NO_GRADIENT(ResizeNearestGradient);

using UpsampleNearest = ResizeOp<CPUContext, ByInteger>;
REGISTER_CPU_OPERATOR(UpsampleNearest, UpsampleNearest);
OPERATOR_SCHEMA(UpsampleNearest)
    .NumInputs(1)
    .FillUsing(DescribeInteger)
    .TensorInferenceFunction(InferResize<ByInteger>)
    .Input(0, "X",
           "N x C x H x W (NCHW) or N x H x W x C (NHWC), float or bfloat16; on CUDA devices also "
           "float16.")
    .Output(0, "Y", "The same, `scale` times as high and wide.")
    .SetDoc("Enlarges images: every pixel becomes a square of scale x scale pixels.");
REGISTER_GRADIENT(UpsampleNearest, GradientRule<"I0 GO0 -> GI0">);

using UpsampleNearestGradient = ResizeGradientOp<CPUContext, ByInteger>;
REGISTER_CPU_OPERATOR(UpsampleNearestGradient, UpsampleNearestGradient);
OPERATOR_SCHEMA(UpsampleNearestGradient)
    .NumInputs(2)
    .FillUsing(DescribeInteger)
    .IdenticalTypeAndShapeOfInput(0)
    .Input(0, "X", "The forward operator's input, for its shape.")
    .Input(1, "dY", "Gradient of Y.")
    .Output(0, "dX", "Gradient of X: a pixel gets the sum over its copies.")
    .SetDoc("Gradient of UpsampleNearest.");
NO_GRADIENT(UpsampleNearestGradient);

}  // namespace
}  // namespace caffe2
