// ResizeNearest and its gradient on the CPU.
#include <cmath>

#include "caffe2/core/operator.h"
#include "operators/pixel_map.h"

namespace caffe2 {
namespace {

constexpr int64_t kMostPixels = int64_t{1} << 31;  // along an axis

// Source index of each place of an axis that becomes `scale` times as long.
std::vector<int64_t> MapAxis(const char* name, int64_t size, float scale) {
  CAFFE_ENFORCE(scale > 0 && std::isfinite(scale), name, " is ", scale);
  const double scaled = static_cast<double>(size) * scale;
  CAFFE_ENFORCE_LT(scaled, static_cast<double>(kMostPixels), name, " is ", scale);
  std::vector<int64_t> map(static_cast<int64_t>(scaled));
  for (size_t i = 0; i < map.size(); ++i) {
    map[i] = std::min(static_cast<int64_t>(static_cast<float>(i) / scale), size - 1);
  }
  return map;
}

// The arguments, resolved for an image of this shape.
struct ResizeShape {
  PixelPlanes planes;
  PixelMap map;
  std::vector<int64_t> output;

  static ResizeShape Make(const ArgumentHelper& arguments, const std::vector<int64_t>& dims) {
    const StorageOrder order = ReadStorageOrder(arguments);
    ResizeShape shape;
    shape.planes = PixelPlanes::Make(dims, order);
    shape.map.rows = MapAxis("height_scale", shape.planes.height,
                             arguments.GetSingleArgument<float>("height_scale", 1.f));
    shape.map.columns = MapAxis("width_scale", shape.planes.width,
                                arguments.GetSingleArgument<float>("width_scale", 1.f));
    ImageShape image = ImageShape::FromDims(dims, order);
    image.spatial = {static_cast<int64_t>(shape.map.rows.size()),
                     static_cast<int64_t>(shape.map.columns.size())};
    shape.output = image.ToDims(order);
    return shape;
  }
};

// X -> Y.
class ResizeNearestOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    return TensorTypes<float, bfloat16>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& x = Input(0);
    const auto shape = ResizeShape::Make(ArgumentHelper(debug_def()), x.sizes());
    Tensor* y = Output(0);
    y->Resize(shape.output);
    GatherPixels(shape.planes, shape.map, 0.f, x.data<T>(), y->template mutable_data<T>());
    return true;
  }
};

// dY, X -> dX.
class ResizeNearestGradientOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    return TensorTypes<float, bfloat16>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& dy = Input(0);
    const Tensor& x = Input(1);
    const auto shape = ResizeShape::Make(ArgumentHelper(debug_def()), x.sizes());
    CAFFE_ENFORCE(dy.sizes() == shape.output, "dY has shape ", ShapeString(dy.sizes()), ", Y ",
                  ShapeString(shape.output));
    Tensor* dx = Output(0);
    dx->ResizeLike(x);
    ScatterPixels(shape.planes, shape.map, dy.data<T>(), dx->template mutable_data<T>());
    return true;
  }
};

std::vector<TensorShape> InferResize(const OperatorDef& def,
                                     const std::vector<TensorShape>& inputs) {
  if (inputs[0].unknown_shape()) return {UnknownTensorShape()};
  const auto shape = ResizeShape::Make(ArgumentHelper(def), GetDimsVector(inputs[0]));
  return {CreateTensorShape(shape.output, inputs[0].data_type())};
}

void DescribeScales(OpSchema& schema) {
  schema.NumOutputs(1)
      .Arg("height_scale", "Rows of Y over rows of X, above 0, default 1.")
      .Arg("width_scale", "Columns of Y over columns of X, above 0, default 1.")
      .Arg("order", "NCHW (default) or NHWC.");
}

class GetResizeNearestGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("ResizeNearestGradient", "", std::vector<std::string>{GO(0), I(0)},
                             std::vector<std::string>{GI(0)});
  }
};

REGISTER_CPU_OPERATOR(ResizeNearest, ResizeNearestOp);
OPERATOR_SCHEMA(ResizeNearest)
    .NumInputs(1)
    .FillUsing(DescribeScales)
    .TensorInferenceFunction(InferResize)
    .Input(0, "X", "N x C x H x W (NCHW) or N x H x W x C (NHWC), float or bfloat16.")
    .Output(0, "Y", "The same with floor(H * height_scale) rows of floor(W * width_scale) pixels.")
    .SetDoc(
        "Resizes images: row i of Y is row floor(i / height_scale) of X, columns likewise. "
        "Semantics are Caffe2's.");
REGISTER_GRADIENT(ResizeNearest, GetResizeNearestGradient);

REGISTER_CPU_OPERATOR(ResizeNearestGradient, ResizeNearestGradientOp);
OPERATOR_SCHEMA(ResizeNearestGradient)
    .NumInputs(2)
    .FillUsing(DescribeScales)
    .IdenticalTypeAndShapeOfInput(1)
    .Input(0, "dY", "Gradient of Y.")
    .Input(1, "X", "The forward operator's input, for its shape.")
    .Output(0, "dX", "Gradient of X: a pixel gets the sum over its copies.")
    .SetDoc("Gradient of ResizeNearest.");
NO_GRADIENT(ResizeNearestGradient);

}  // namespace
}  // namespace caffe2
