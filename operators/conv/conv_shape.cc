#include <numeric>

#include "operators/conv/conv_op.h"

namespace caffe2 {
namespace {

bool AnyUnknown(const std::vector<TensorShape>& shapes, int count) {
  for (int i = 0; i < count; ++i) {
    if (shapes[i].unknown_shape()) return true;
  }
  return false;
}

// What to do if the channels stand on the axis where the other order has them; "" if they do not.
std::string OrderHint(StorageOrder order, const std::vector<int64_t>& x_dims, int64_t channels) {
  if (x_dims.size() < 3) return "";
  const bool first = order == StorageOrder::kNCHW;
  if (!first && x_dims[1] != channels && x_dims[x_dims.size() - 2] == channels) {
    return MakeString("; if an operator NCHW2NHWC wrote the input, the axis of ", channels,
                      " may hold the channels of images that were in the order NHWC already");
  }
  if ((first ? x_dims.back() : x_dims[1]) != channels) return "";
  return MakeString("; if the ", first ? "last" : "second", " axis of the input, of ", channels,
                    ", holds its channels, set the argument order to ", first ? "NHWC" : "NCHW",
                    " and give the filter in that order");
}

ConvShape ShapeOf(const OperatorDef& def, const std::vector<TensorShape>& inputs) {
  return ConvShape::Make(WindowArguments(ArgumentHelper(def)), GetDimsVector(inputs[0]),
                         GetDimsVector(inputs[1]));
}

uint64_t TotalBytes(const std::vector<TensorShape>& shapes) {
  return std::accumulate(shapes.begin(), shapes.end(), uint64_t{0},
                         [](uint64_t sum, const TensorShape& s) {
                           return sum + (s.unknown_shape() ? 0 : NbytesOf(s));
                         });
}

OpSchema::Cost CostOf(uint64_t flops, const std::vector<TensorShape>& inputs,
                      const std::vector<TensorShape>& outputs) {
  OpSchema::Cost cost;
  cost.flops = flops;
  cost.bytes_read = TotalBytes(inputs);
  cost.bytes_written = TotalBytes(outputs);
  cost.params_bytes = NbytesOf(inputs[1]);
  return cost;
}

}  // namespace

ConvShape ConvShape::Make(const WindowArguments& arguments, const std::vector<int64_t>& x_dims,
                          const std::vector<int64_t>& filter_dims) {
  CAFFE_ENFORCE(x_dims.size() == filter_dims.size(),
                "the input and the filter must have the same number of axes: the input has shape ",
                ShapeString(x_dims), ", the filter ", ShapeString(filter_dims));
  ConvShape shape;
  shape.x = ImageShape::FromDims(x_dims, arguments.order());
  shape.group = arguments.group();
  shape.window = arguments.Resolve(shape.x.spatial);
  const ImageShape filter = ImageShape::FromDims(filter_dims, arguments.order());
  shape.filter = filter.Logical();
  CAFFE_ENFORCE(filter.spatial == shape.window.kernel, "the filter ", ShapeString(filter_dims),
                " does not have the kernel ", ShapeString(shape.window.kernel));
  CAFFE_ENFORCE(filter.batch > 0 && filter.channels > 0,
                "the filter must not be empty, found shape ", ShapeString(filter_dims));
  CAFFE_ENFORCE(shape.x.channels % shape.group == 0, "the ", shape.x.channels,
                " channels of the input are not a multiple of the argument group (", shape.group,
                ")");
  CAFFE_ENFORCE(filter.batch % shape.group == 0, "the ", filter.batch,
                " filters are not a multiple of the argument group (", shape.group, ")");
  CAFFE_ENFORCE(
      filter.channels == shape.x.channels / shape.group,
      "the filter must have as many channels as a group of the input: the filter has shape ",
      ShapeString(filter_dims), ", the input ", ShapeString(x_dims), ", and there are ",
      shape.group, " groups", OrderHint(arguments.order(), x_dims, filter.channels * shape.group));
  shape.y = {shape.x.batch, filter.batch, shape.window.output};
  return shape;
}

uint64_t ConvShape::Flops() const {
  return 2 * static_cast<uint64_t>(CheckedNumel(y.Logical())) *
         static_cast<uint64_t>(CheckedNumel(filter) / filter[0]);
}

onednn::ConvProblem MakeConvProblem(const ConvShape& shape, bool channels_last, TypeMeta type,
                                    TypeMeta filter_type, TypeMeta bias_type) {
  onednn::ConvProblem problem;
  problem.src = shape.x.Logical();
  problem.filter = shape.filter;
  problem.dst = shape.y.Logical();
  problem.stride = shape.window.stride;
  problem.dilation = shape.window.dilation;
  problem.pad_begin = shape.window.pad_begin;
  problem.groups = shape.group;
  problem.channels_last = channels_last;
  problem.type = type;
  problem.filter_type = filter_type;
  problem.bias_type = bias_type;
  return problem;
}

onednn::ConvAlgorithm ReadConvAlgorithm(const ArgumentHelper& arguments) {
  const auto name = arguments.GetSingleArgument<std::string>("algo", "AUTO");
  if (name == "DIRECT") return onednn::ConvAlgorithm::kDirect;
  if (name == "WINOGRAD") return onednn::ConvAlgorithm::kWinograd;
  return onednn::ConvAlgorithm::kAuto;
}

void DescribeConvAlgorithm(OpSchema& schema) {
  schema.Arg<std::string>(
      "algo",
      "How 3x3 convolutions of stride 1 are computed on the CPU: DIRECT, WINOGRAD (faster, with a "
      "few more bits of rounding error) or AUTO, the default: whichever is faster for the shape.");
}

std::vector<TensorShape> InferConv(const OperatorDef& def, const std::vector<TensorShape>& inputs) {
  if (AnyUnknown(inputs, 2)) return {UnknownTensorShape()};
  const StorageOrder order = ReadStorageOrder(ArgumentHelper(def));
  return {CreateTensorShape(ShapeOf(def, inputs).y.ToDims(order), inputs[0].data_type())};
}

std::vector<TensorShape> InferConvGradient(const OperatorDef& def,
                                           const std::vector<TensorShape>& inputs) {
  if (AnyUnknown(inputs, 2)) {
    return std::vector<TensorShape>(def.output_size(), UnknownTensorShape());
  }
  std::vector<TensorShape> outputs = {inputs[1]};
  const ArgumentHelper arguments(def);
  if (arguments.GetSingleArgument<bool>("float_gradients", false)) {
    outputs[0].set_data_type(TensorProto::FLOAT);
  }
  if (!arguments.GetSingleArgument<bool>("no_bias", false)) {
    outputs.push_back(CreateTensorShape({inputs[1].dims(0)}, outputs[0].data_type()));
  }
  if (def.output_size() > static_cast<int>(outputs.size())) outputs.push_back(inputs[0]);
  return outputs;
}

OpSchema::Cost CostOfConv(const OperatorDef& def, const std::vector<TensorShape>& inputs) {
  if (AnyUnknown(inputs, 2)) return {};
  return CostOf(ShapeOf(def, inputs).Flops(), inputs, InferConv(def, inputs));
}

OpSchema::Cost CostOfConvGradient(const OperatorDef& def, const std::vector<TensorShape>& inputs) {
  if (AnyUnknown(inputs, 2)) return {};
  const std::vector<TensorShape> outputs = InferConvGradient(def, inputs);
  const bool no_bias = ArgumentHelper(def).GetSingleArgument<bool>("no_bias", false);
  const bool input_gradient = outputs.size() > (no_bias ? 1u : 2u);
  return CostOf((input_gradient ? 2 : 1) * ShapeOf(def, inputs).Flops(), inputs, outputs);
}

}  // namespace caffe2
