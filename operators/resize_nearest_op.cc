// ResizeNearest, UpsampleNearest and their gradients on the CPU.
#include "operators/gradient_rule.h"
#include "operators/pixel_map.h"
#include "operators/scaled_image.h"

namespace caffe2 {
namespace {

// Source index of each place of an axis that becomes `scale` times as long.
std::vector<int64_t> MapAxis(const char* name, int64_t size, float scale) {
  std::vector<int64_t> map(ScaledSize(name, size, scale));
  for (size_t i = 0; i < map.size(); ++i) {
    map[i] = std::min(static_cast<int64_t>(static_cast<float>(i) / scale), size - 1);
  }
  return map;
}

// The scales, resolved for an image of this shape.
struct ResizeShape {
  PixelPlanes planes;
  PixelMap map;
  std::vector<int64_t> output;

  ResizeShape(const std::vector<int64_t>& dims, StorageOrder order, const char* height_argument,
              float height_scale, const char* width_argument, float width_scale)
      : planes(PixelPlanes::Make(dims, order)) {
    map.rows = MapAxis(height_argument, planes.height, height_scale);
    map.columns = MapAxis(width_argument, planes.width, width_scale);
    ImageShape image = ImageShape::FromDims(dims, order);
    image.spatial = {static_cast<int64_t>(map.rows.size()),
                     static_cast<int64_t>(map.columns.size())};
    output = image.ToDims(order);
  }
};

// What the operators resize by: their arguments or, where they have one more input, that; and where
// their gradients find X and dY.
struct ByScales {
  static constexpr int kDY = 0, kX = 1;
  static ResizeShape Make(const ArgumentHelper& arguments, const Tensor* scales,
                          const std::vector<int64_t>& dims) {
    const ImageScales by = ImageScales::Read(arguments, scales);
    return {dims, ReadStorageOrder(arguments), "height_scale", by.height, "width_scale", by.width};
  }
};
struct ByInteger {
  static constexpr int kX = 0, kDY = 1;
  static ResizeShape Make(const ArgumentHelper& arguments, const Tensor*,
                          const std::vector<int64_t>& dims) {
    const auto scale = static_cast<float>(arguments.GetSingleArgument<int>("scale", 2));
    return {dims, ReadStorageOrder(arguments), "scale", scale, "scale", scale};
  }
};

// X -> Y.
template <class Scale>
class ResizeOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    return TensorTypes<float, bfloat16>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& x = Input(0);
    const ResizeShape shape =
        Scale::Make(ArgumentHelper(debug_def()), InputSize() > 1 ? &Input(1) : nullptr, x.sizes());
    Tensor* y = Output(0);
    y->Resize(shape.output);
    GatherPixels(shape.planes, shape.map, 0.f, x.data<T>(), y->template mutable_data<T>());
    return true;
  }
};

// dY and X -> dX.
template <class Scale>
class ResizeGradientOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    return TensorTypes<float, bfloat16>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &dy = Input(Scale::kDY), &x = Input(Scale::kX);
    const ResizeShape shape =
        Scale::Make(ArgumentHelper(debug_def()), InputSize() > 2 ? &Input(2) : nullptr, x.sizes());
    CAFFE_ENFORCE(dy.sizes() == shape.output, "dY has shape ", ShapeString(dy.sizes()), ", Y ",
                  ShapeString(shape.output));
    Tensor* dx = Output(0);
    dx->ResizeLike(x);
    ScatterPixels(shape.planes, shape.map, dy.data<T>(), dx->template mutable_data<T>());
    return true;
  }
};

template <class Scale>
std::vector<TensorShape> InferResize(const OperatorDef& def,
                                     const std::vector<TensorShape>& inputs) {
  if (inputs[0].unknown_shape() || inputs.size() > 1) return {UnknownTensorShape()};
  const ResizeShape shape = Scale::Make(ArgumentHelper(def), nullptr, GetDimsVector(inputs[0]));
  return {CreateTensorShape(shape.output, inputs[0].data_type())};
}

void DescribeScales(OpSchema& schema) {
  schema.NumOutputs(1).FillUsing(ImageScales::Describe).Arg("order", "NCHW (default) or NHWC.");
}

void DescribeInteger(OpSchema& schema) {
  schema.NumOutputs(1)
      .Arg("scale", "(int > 0, default 2) How many times as high and wide Y is.")
      .Arg("order", "NCHW (default) or NHWC.");
}

REGISTER_CPU_OPERATOR(ResizeNearest, ResizeOp<ByScales>);
OPERATOR_SCHEMA(ResizeNearest)
    .NumInputs(1, 2)
    .FillUsing(DescribeScales)
    .TensorInferenceFunction(InferResize<ByScales>)
    .Input(0, "X", "N x C x H x W (NCHW) or N x H x W x C (NHWC), float or bfloat16.")
    .Input(1, "scales", "Optional: height_scale and width_scale, floats, in place of arguments.")
    .Output(0, "Y", "The same with floor(H * height_scale) rows of floor(W * width_scale) pixels.")
    .SetDoc(
        "Resizes images: row i of Y is row floor(i / height_scale) of X, columns likewise. "
        "Semantics are Caffe2's.");
REGISTER_GRADIENT(ResizeNearest, GetScaledImageGradient);

REGISTER_CPU_OPERATOR(ResizeNearestGradient, ResizeGradientOp<ByScales>);
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

REGISTER_CPU_OPERATOR(UpsampleNearest, ResizeOp<ByInteger>);
OPERATOR_SCHEMA(UpsampleNearest)
    .NumInputs(1)
    .FillUsing(DescribeInteger)
    .TensorInferenceFunction(InferResize<ByInteger>)
    .Input(0, "X", "N x C x H x W (NCHW) or N x H x W x C (NHWC), float or bfloat16.")
    .Output(0, "Y", "The same, `scale` times as high and wide.")
    .SetDoc("Enlarges images: every pixel becomes scale x scale of them.");
REGISTER_GRADIENT(UpsampleNearest, GradientRule<"I0 GO0 -> GI0">);

REGISTER_CPU_OPERATOR(UpsampleNearestGradient, ResizeGradientOp<ByInteger>);
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
