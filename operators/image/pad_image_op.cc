// PadImage and its gradient on the CPU.
#include "operators/image/pad_image_op.h"

namespace caffe2 {
namespace {

enum class PadMode { kConstant, kReflect, kEdge };

PadMode ReadPadMode(const ArgumentHelper& arguments) {
  const auto mode = arguments.GetSingleArgument<std::string>("mode", "constant");
  if (mode == "constant") return PadMode::kConstant;
  if (mode == "reflect") return PadMode::kReflect;
  if (mode == "edge") return PadMode::kEdge;
  CAFFE_THROW("argument mode must be constant, reflect or edge, found \"", mode, "\"");
}

// The source index of each of the `size` + begin + end places. Negative pads crop.
std::vector<int64_t> MapAxis(PadMode mode, int64_t size, int64_t begin, int64_t end) {
  CAFFE_ENFORCE(mode == PadMode::kConstant || size > 0,
                "an empty axis can be padded with a constant only");
  CAFFE_ENFORCE(size + begin + end >= 0, "pads ", begin, " and ", end,
                " crop more than an axis of ", size, " has");
  CAFFE_ENFORCE(mode != PadMode::kReflect || (begin < size && end < size), "pads ", begin, " and ",
                end, " reflect more than an axis of ", size, " has");
  std::vector<int64_t> map;
  map.reserve(size + begin + end);
  for (int64_t i = -begin; i < size + end; ++i) {
    int64_t source = i;
    if (i < 0 || i >= size) {
      source = mode == PadMode::kConstant ? -1
               : mode == PadMode::kEdge   ? (i < 0 ? 0 : size - 1)
                                          : (i < 0 ? -i : 2 * (size - 1) - i);
    }
    map.push_back(source);
  }
  return map;
}

}  // namespace

PadImageShape PadImageShape::Make(const ArgumentHelper& arguments,
                                  const std::vector<int64_t>& dims) {
  const StorageOrder order = ReadStorageOrder(arguments);
  CAFFE_ENFORCE(arguments.GetSingleArgument<int>("legacy_pad", 0) == 0,
                "PadImage does not take the argument legacy_pad, found ",
                arguments.GetSingleArgument<int>("legacy_pad", 0));
  const PadMode mode = ReadPadMode(arguments);
  PadImageShape shape;
  shape.planes = PixelPlanes::Make(dims, order);
  const std::vector<int64_t> pads = ReadPads(arguments, 2);
  shape.map.rows = MapAxis(mode, shape.planes.height, pads[0], pads[2]);
  shape.map.columns = MapAxis(mode, shape.planes.width, pads[1], pads[3]);
  ImageShape image = ImageShape::FromDims(dims, order);
  image.spatial = {static_cast<int64_t>(shape.map.rows.size()),
                   static_cast<int64_t>(shape.map.columns.size())};
  shape.output = image.ToDims(order);
  return shape;
}

std::vector<int64_t> PadImageShape::InputDims(const ArgumentHelper& arguments,
                                              const std::vector<int64_t>& dy_dims) {
  const StorageOrder order = ReadStorageOrder(arguments);
  ImageShape image = ImageShape::FromDims(dy_dims, order);
  CAFFE_ENFORCE(image.spatial.size() == 2, "dY must have two spatial axes, found shape ",
                ShapeString(dy_dims));
  const std::vector<int64_t> pads = ReadPads(arguments, 2);
  for (int axis = 0; axis < 2; ++axis) {
    image.spatial[axis] -= pads[axis] + pads[axis + 2];
    CAFFE_ENFORCE(image.spatial[axis] >= 0, "dY of shape ", ShapeString(dy_dims),
                  " is smaller than the pads");
  }
  return image.ToDims(order);
}

namespace {

std::vector<TensorShape> InferPadImage(const OperatorDef& def,
                                       const std::vector<TensorShape>& inputs) {
  if (inputs[0].unknown_shape()) return {UnknownTensorShape()};
  const auto shape = PadImageShape::Make(ArgumentHelper(def), GetDimsVector(inputs[0]));
  return {CreateTensorShape(shape.output, inputs[0].data_type())};
}

std::vector<TensorShape> InferPadImageGradient(const OperatorDef& def,
                                               const std::vector<TensorShape>& inputs) {
  if (inputs[0].unknown_shape()) return {UnknownTensorShape()};
  return {CreateTensorShape(PadImageShape::InputDims(ArgumentHelper(def), GetDimsVector(inputs[0])),
                            inputs[0].data_type())};
}

void DescribePads(OpSchema& schema) {
  schema.NumInputs(1)
      .NumOutputs(1)
      .Arg<int>("pad",
                "Pixels added on every side, default 0; a negative number crops. Or pad_t, pad_l, "
                "pad_b, pad_r, or pads in that order.")
      .ArgOneOf("mode", {"constant", "reflect", "edge"},
                "(default constant) What the pads hold; reflect does not repeat the edge.")
      .Arg<float>("value", "(default 0) The value of the pads in mode constant.")
      .ArgOrder();
}

class GetPadImageGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("PadImageGradient", "", std::vector<std::string>{GO(0)},
                             std::vector<std::string>{GI(0)});
  }
};

REGISTER_CPU_OPERATOR(PadImage, PadImageOp<CPUContext>);
OPERATOR_SCHEMA(PadImage)
    .FillUsing(DescribePads)
    .TensorInferenceFunction(InferPadImage)
    .Input(0, "X",
           "N x C x H x W (NCHW) or N x H x W x C (NHWC), float or bfloat16; on CUDA devices also "
           "float16.")
    .Output(0, "Y", "The same with H + pad_t + pad_b rows of W + pad_l + pad_r pixels.")
    .SetDoc(
        "Surrounds images with a constant, their reflection or their edge. Semantics and "
        "arguments are Caffe2's.");
REGISTER_GRADIENT(PadImage, GetPadImageGradient);

REGISTER_CPU_OPERATOR(PadImageGradient, PadImageGradientOp<CPUContext>);
OPERATOR_SCHEMA(PadImageGradient)
    .FillUsing(DescribePads)
    .TensorInferenceFunction(InferPadImageGradient)
    .Input(0, "dY", "Gradient of Y.")
    .Output(0, "dX", "Gradient of X: for reflect and edge a pixel gets the sum over its copies.")
    .SetDoc("Gradient of PadImage.");
NO_GRADIENT(PadImageGradient);

}  // namespace
}  // namespace caffe2
