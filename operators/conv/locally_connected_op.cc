// LC, LC1D, LC2D and LC3D: convolution with a filter of its own at every position.
#include "operators/conv/locally_connected_op.h"

#include "operators/common/host_device_op.h"

namespace caffe2 {
namespace {

// See LocalShape::source.
std::vector<int64_t> FindSources(const Window& geometry, const std::vector<int64_t>& spatial,
                                 int64_t positions, int64_t window) {
  std::vector<int64_t> source(positions * window);
  for (int64_t i = 0; i < positions * window; ++i) {
    int64_t position = i / window, element = i % window, pixel = 0, stride = 1;
    for (size_t axis = spatial.size(); axis-- > 0;) {
      const int64_t at = position % geometry.output[axis] * geometry.stride[axis] +
                         element % geometry.kernel[axis] * geometry.dilation[axis] -
                         geometry.pad_begin[axis];
      position /= geometry.output[axis];
      element /= geometry.kernel[axis];
      if (at < 0 || at >= spatial[axis]) pixel = -1;
      if (pixel >= 0) pixel += at * stride;
      stride *= spatial[axis];
    }
    source[i] = pixel;
  }
  return source;
}

}  // namespace

LocalShape LocalShape::Make(const WindowArguments& arguments, const std::vector<int64_t>& x_dims,
                            const std::vector<int64_t>& filter_dims) {
  LocalShape shape;
  LocalLayout& l = shape.layout;
  l.channels_last = arguments.channels_last();
  l.group = arguments.group();
  const ImageShape x = ImageShape::FromDims(x_dims, arguments.order());
  const Window geometry = arguments.Resolve(x.spatial);
  const size_t rank = x.spatial.size();
  CAFFE_ENFORCE(filter_dims.size() == 2 * rank + 2, "the filter ", ShapeString(filter_dims),
                " must have ", 2 * rank + 2, " axes: output positions, M, C / group and kernel");
  l.batch = x.batch;
  l.channels = x.channels;
  l.pixels = x.SpatialSize();
  l.outputs = filter_dims[rank];
  CAFFE_ENFORCE(l.channels % l.group == 0 && l.outputs % l.group == 0, "the channels of X (",
                l.channels, ") and of Y (", l.outputs,
                ") must be multiples of the argument group (", l.group, ")");
  shape.filter = geometry.output;
  shape.bias = geometry.output;
  shape.bias.push_back(l.outputs);
  shape.filter.push_back(l.outputs);
  if (!l.channels_last) shape.filter.push_back(l.depth());
  shape.filter.insert(shape.filter.end(), geometry.kernel.begin(), geometry.kernel.end());
  if (l.channels_last) shape.filter.push_back(l.depth());
  CAFFE_ENFORCE(filter_dims == shape.filter, "the filter is ", ShapeString(filter_dims), ", but X ",
                ShapeString(x_dims), " and the arguments ask for ", ShapeString(shape.filter));
  shape.y = ImageShape{x.batch, l.outputs, geometry.output}.ToDims(arguments.order());
  l.positions = CheckedNumel(geometry.output);
  l.window = CheckedNumel(geometry.kernel);
  shape.source = FindSources(geometry, x.spatial, l.positions, l.window);
  return shape;
}

void LocalShape::FindUses(std::vector<int64_t>* starts, std::vector<int64_t>* uses) const {
  starts->assign(layout.pixels + 1, 0);
  for (const int64_t pixel : source) {
    if (pixel >= 0) ++(*starts)[pixel + 1];
  }
  for (int64_t i = 0; i < layout.pixels; ++i) (*starts)[i + 1] += (*starts)[i];
  uses->resize(starts->back());
  std::vector<int64_t> next = *starts;
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] >= 0) (*uses)[next[source[i]]++] = static_cast<int64_t>(i);
  }
}

namespace {

void DescribeLocal(OpSchema& schema) {
  schema.NumInputs(2, 3)
      .NumOutputs(1)
      .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
        const WindowArguments arguments{ArgumentHelper(def)};
        const LocalShape shape =
            LocalShape::Make(arguments, GetDimsVector(in[0]), GetDimsVector(in[1]));
        return std::vector<TensorShape>{CreateTensorShape(shape.y, in[0].data_type())};
      })
      .FillUsing(DescribeWindow)
      .Arg<int>("group", "(> 0, default 1) Groups that channels of X and Y divide into.")
      .Arg<bool>("no_gradient_to_input",
                 "(default 0) 1: the gradient operator does not compute the gradient of X.")
      .SetDoc(
          "A locally connected layer: a convolution with a filter and bias of its own at every "
          "position, for one to three spatial axes. LC1D, LC2D and LC3D are other names of LC.")
      .Input(0, "X", "Float, N x C x spatial (NCHW) or N x spatial x C (NHWC).")
      .Input(1, "filter",
             "Float: output positions x M x C / group x kernel (NCHW), or output positions x M x "
             "kernel x C / group (NHWC).")
      .Input(2, "bias", "Optional: float, output positions x M.")
      .Output(0, "Y", "Float, N x M x output positions, or N x output positions x M.");
}
void DescribeLocalGradient(OpSchema& schema) {
  schema.NumInputs(3)
      .NumOutputs(1, 3)
      .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
        const ArgumentHelper arguments(def);
        const LocalShape shape = LocalShape::Make(WindowArguments(arguments), GetDimsVector(in[0]),
                                                  GetDimsVector(in[1]));
        std::vector<TensorShape> out{in[1]};
        if (!arguments.GetSingleArgument<bool>("no_bias", false)) {
          out.push_back(CreateTensorShape(shape.bias, in[0].data_type()));
        }
        out.push_back(in[0]);
        out.resize(def.output_size());
        return out;
      })
      .FillUsing(DescribeWindow)
      .Arg<int>("group", "As in the forward operator.")
      .Arg<bool>("no_bias", "1: there is no bias, and no output dbias. Default 0.")
      .SetDoc("The gradients of a locally connected layer.")
      .Input(0, "X", "As in the forward operator.")
      .Input(1, "filter", "As in the forward operator.")
      .Input(2, "dY", "The gradient of Y.")
      .Output(0, "dfilter", "The gradient of the filter.")
      .Output(1, "dbias", "The gradient of the bias. With no_bias: dX.")
      .Output(2, "dX", "The gradient of X.");
}

class GetLocallyConnectedGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    const bool has_bias = Def().input_size() > 2;
    std::vector<std::string> outputs{GI(1)};
    if (has_bias) outputs.push_back(GI(2));
    if (!ArgumentHelper(Def()).GetSingleArgument<bool>("no_gradient_to_input", false)) {
      outputs.push_back(GI(0));
    }
    return SingleGradientDef(Def().type() + "Gradient", "", std::vector{I(0), I(1), GO(0)}, outputs,
                             std::vector{MakeArgument<int>("no_bias", has_bias ? 0 : 1)});
  }
};

}  // namespace

#define REGISTER_LOCALLY_CONNECTED(name)                                         \
  REGISTER_CPU_OPERATOR(name, LocallyConnectedOp<CPUContext>);                   \
  REGISTER_CPU_OPERATOR(name##Gradient, LocallyConnectedGradientOp<CPUContext>); \
  OPERATOR_SCHEMA(name).FillUsing(DescribeLocal);                                \
  OPERATOR_SCHEMA(name##Gradient).FillUsing(DescribeLocalGradient);              \
  REGISTER_GRADIENT(name, GetLocallyConnectedGradient)
REGISTER_LOCALLY_CONNECTED(LC);
REGISTER_LOCALLY_CONNECTED(LC1D);
REGISTER_LOCALLY_CONNECTED(LC2D);
REGISTER_LOCALLY_CONNECTED(LC3D);

}  // namespace caffe2
