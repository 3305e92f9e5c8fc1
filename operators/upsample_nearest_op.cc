// UpsampleNearest: every pixel of an image becomes a square of them.
#include "caffe2/core/operator.h"
#include "operators/gradient_rule.h"
#include "operators/pixel_map.h"

namespace caffe2 {
namespace {

struct UpsampleShape {
  PixelPlanes planes;
  PixelMap map;
  std::vector<int64_t> output;

  static UpsampleShape Make(const ArgumentHelper& arguments, const std::vector<int64_t>& dims) {
    const auto scale = arguments.GetSingleArgument<int64_t>("scale", 2);
    CAFFE_ENFORCE_GT(scale, 0, "the argument scale");
    const StorageOrder order = ReadStorageOrder(arguments);
    UpsampleShape shape;
    shape.planes = PixelPlanes::Make(dims, order);
    ImageShape image = ImageShape::FromDims(dims, order);
    for (int64_t& size : image.spatial) size = CheckedNumel({size, scale});
    shape.output = image.ToDims(order);
    CheckedNumel(shape.output);
    for (int64_t i = 0; i < image.spatial[0]; ++i) shape.map.rows.push_back(i / scale);
    for (int64_t i = 0; i < image.spatial[1]; ++i) shape.map.columns.push_back(i / scale);
    return shape;
  }
};

class UpsampleNearestOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    return TensorTypes<float, bfloat16>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    const auto shape = UpsampleShape::Make(ArgumentHelper(debug_def()), X.sizes());
    const T* x = X.data<T>();
    Output(0)->Resize(shape.output);
    GatherPixels(shape.planes, shape.map, 0.f, x, Output(0)->mutable_data<T>());
    return true;
  }
};

class UpsampleNearestGradientOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    return TensorTypes<float, bfloat16>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &X = Input(0), &dY = Input(1);
    const auto shape = UpsampleShape::Make(ArgumentHelper(debug_def()), X.sizes());
    CAFFE_ENFORCE(dY.sizes() == shape.output, "gradient ", ShapeString(dY.sizes()), " for X ",
                  ShapeString(X.sizes()));
    const T* dy = dY.data<T>();
    Output(0)->ResizeLike(X);
    ScatterPixels(shape.planes, shape.map, dy, Output(0)->mutable_data<T>());
    return true;
  }
};

void Arguments(OpSchema& schema) {
  schema.Arg("scale", "(int > 0, default 2) The side of the square.")
      .Arg("order", "(string, default NCHW) NCHW or NHWC.");
}

}  // namespace

REGISTER_CPU_OPERATOR(UpsampleNearest, UpsampleNearestOp);
REGISTER_CPU_OPERATOR(UpsampleNearestGradient, UpsampleNearestGradientOp);
OPERATOR_SCHEMA(UpsampleNearest)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      if (in[0].unknown_shape()) return std::vector<TensorShape>{UnknownTensorShape()};
      const auto shape = UpsampleShape::Make(ArgumentHelper(def), GetDimsVector(in[0]));
      return std::vector<TensorShape>{CreateTensorShape(shape.output, in[0].data_type())};
    })
    .FillUsing(Arguments)
    .SetDoc("Enlarges images: every pixel becomes scale x scale of them.")
    .Input(0, "X", "A float or bfloat16 image, N x C x H x W (NCHW) or N x H x W x C (NHWC).")
    .Output(0, "Y", "The same, `scale` times as high and wide.");
OPERATOR_SCHEMA(UpsampleNearestGradient)
    .NumInputs(2)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .FillUsing(Arguments)
    .SetDoc("The gradient of UpsampleNearest: a pixel gets the sum over its square.")
    .Input(0, "X", "The input of the forward operator, for its shape.")
    .Input(1, "dY", "The gradient of Y.")
    .Output(0, "dX", "The gradient of X.");
REGISTER_GRADIENT(UpsampleNearest, GradientRule<"I0 GO0 -> GI0">);

}  // namespace caffe2
