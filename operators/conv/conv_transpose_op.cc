// ConvTranspose (also called deconvolution) and its gradient on the CPU. ConvTranspose is the
// gradient of a convolution from Y to X, so oneDNN's convolutions compute it with the roles of X
// and Y exchanged.
#include "operators/conv/conv_transpose_op.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "operators/norm/spatial_bn_kernels.h"

namespace caffe2 {

ConvShape MakeTransposedConvShape(const WindowArguments& arguments,
                                  const std::vector<int64_t>& x_dims,
                                  const std::vector<int64_t>& filter_dims) {
  CAFFE_ENFORCE(x_dims.size() == filter_dims.size(),
                "the input and the filter must have the same number of axes: the input has shape ",
                ShapeString(x_dims), ", the filter ", ShapeString(filter_dims));
  const ImageShape filter = ImageShape::FromDims(filter_dims, arguments.order());
  ConvShape shape;
  shape.y = ImageShape::FromDims(x_dims, arguments.order());
  shape.group = arguments.group();
  shape.window = arguments.ResolveTransposed(shape.y.spatial);
  shape.filter = filter.Logical();
  CAFFE_ENFORCE(filter.spatial == shape.window.kernel, "the filter ", ShapeString(filter_dims),
                " does not have the kernel ", ShapeString(shape.window.kernel));
  CAFFE_ENFORCE(filter.batch == shape.y.channels,
                "there must be one filter for each channel of the input: the filter has shape ",
                ShapeString(filter_dims), ", the input ", ShapeString(x_dims));
  CAFFE_ENFORCE(filter.batch > 0 && filter.channels > 0,
                "the filter must not be empty, found shape ", ShapeString(filter_dims));
  CAFFE_ENFORCE(filter.batch % shape.group == 0, "the ", filter.batch,
                " channels of the input are not a multiple of the argument group (", shape.group,
                ")");
  shape.x = {shape.y.batch, filter.channels * shape.group, shape.window.output};
  return shape;
}

namespace {

// The shapes and types of both operators, and whether they have changed.
class ConvTransposeBase : public Operator<CPUContext> {
 public:
  ConvTransposeBase(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), arguments_(ArgumentHelper(def)) {}

 protected:
  // True if shapes or types have changed since the last call.
  bool Prepare(const Tensor& x, const Tensor& filter) {
    CAFFE_ENFORCE(x.has_data() && filter.has_data(), "the input or the filter holds no data");
    if (x.sizes() == x_dims_ && filter.sizes() == filter_dims_ && x.dtype() == problem_.type &&
        filter.dtype() == problem_.filter_type) {
      return false;
    }
    const ConvShape shape = MakeTransposedConvShape(arguments_, x.sizes(), filter.sizes());
    problem_ =
        MakeConvProblem(shape, arguments_.channels_last(), x.dtype(), filter.dtype(), TypeMeta());
    y_dims_ = shape.x.ToDims(arguments_.order());
    y_channels_ = ChannelShapeOf(y_dims_, arguments_.order());
    x_dims_ = x.sizes();
    filter_dims_ = filter.sizes();
    zeros_.assign(shape.x.channels, 0.f);
    ones_.assign(shape.x.channels, 1.f);
    return true;
  }

  const WindowArguments arguments_;
  onednn::ConvProblem problem_;
  std::vector<int64_t> x_dims_, filter_dims_, y_dims_;
  ChannelShape y_channels_;
  std::vector<float> zeros_, ones_;  // a value for each channel of Y
};

// X, filter, [bias] -> Y.
class ConvTransposeOp final : public ConvTransposeBase {
 public:
  using ConvTransposeBase::ConvTransposeBase;
  bool RunOnDevice() override {
    return TensorTypes<float, bfloat16>::Dispatch(this, Input(0).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& x = Input(0);
    const Tensor& filter = Input(1);
    if (Prepare(x, filter)) conv_.reset();
    Tensor* y = Output(0);
    y->Resize(y_dims_);
    T* y_data = y->template mutable_data<T>();
    if (y->numel() == 0) return true;
    if (!conv_) conv_.emplace(problem_);
    conv_->Run(x.raw_data(), filter.raw_data(), y_data);
    if (InputSize() == 3) {
      const Tensor& bias = Input(2);
      CAFFE_ENFORCE(bias.numel() == y_channels_.channels,
                    "the bias must have one value for each of the ", y_channels_.channels,
                    " channels of Y, found ", bias.numel());
      NormalizeChannels<T>(y_channels_, y_data, zeros_.data(), ones_.data(), bias.data<float>(),
                           nullptr, false, y_data);
    }
    return true;
  }

 private:
  std::optional<onednn::ConvBackwardData> conv_;
};

// X, filter, dY -> dfilter, [dbias], [dX].
class ConvTransposeGradientOp final : public ConvTransposeBase {
 public:
  ConvTransposeGradientOp(const OperatorDef& def, Workspace* ws)
      : ConvTransposeBase(def, ws), outputs_(ConvTransposeOutputs::Make(*this)) {}
  bool RunOnDevice() override {
    return TensorTypes<float, bfloat16>::Dispatch(this, Input(0).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& x = Input(0);
    const Tensor& filter = Input(1);
    const Tensor& dy = Input(2);
    if (Prepare(x, filter)) {
      backward_filter_.reset();
      forward_.reset();
    }
    CAFFE_ENFORCE(dy.sizes() == y_dims_, "dY must have the shape of Y, ", ShapeString(y_dims_),
                  "; found ", ShapeString(dy.sizes()));
    const T* dy_data = dy.data<T>();
    Tensor* d_filter = Output(0);
    d_filter->ResizeLike(filter);
    void* d_filter_data = d_filter->raw_mutable_data(filter.dtype());
    if (outputs_.bias) SumChannels(dy_data);
    Tensor* dx = outputs_.input ? Output(OutputSize() - 1) : nullptr;
    void* dx_data = nullptr;
    if (dx != nullptr) {
      dx->ResizeLike(x);
      dx_data = dx->raw_mutable_data(x.dtype());
    }
    if (dy.numel() == 0) {
      std::memset(d_filter_data, 0, d_filter->nbytes());
      return true;
    }
    if (!backward_filter_) backward_filter_.emplace(problem_);
    backward_filter_->Run(dy_data, x.raw_data(), d_filter_data, nullptr);
    if (dx != nullptr) {
      if (!forward_) forward_.emplace(problem_);
      forward_->Run(dy_data, filter.raw_data(), nullptr, dx_data);
    }
    return true;
  }

 private:
  template <typename T>
  void SumChannels(const T* dy) {
    Output(1)->Resize(y_channels_.channels);
    squares_.resize(y_channels_.channels);  // written, but not used here
    NormalizeGradient<T> in;
    in.x = in.dy = dy;
    in.mean = zeros_.data();
    ChannelGradientSums<T>(y_channels_, in, Output(1)->template mutable_data<float>(),
                           squares_.data(), nullptr);
  }

  const ConvTransposeOutputs outputs_;
  std::vector<float> squares_;
  std::optional<onednn::ConvBackwardFilter> backward_filter_;
  std::optional<onednn::ConvForward> forward_;
};

std::vector<TensorShape> InferConvTranspose(const OperatorDef& def,
                                            const std::vector<TensorShape>& inputs) {
  if (inputs[0].unknown_shape() || inputs[1].unknown_shape()) return {UnknownTensorShape()};
  const WindowArguments arguments{ArgumentHelper(def)};
  const ConvShape shape =
      MakeTransposedConvShape(arguments, GetDimsVector(inputs[0]), GetDimsVector(inputs[1]));
  return {CreateTensorShape(shape.x.ToDims(arguments.order()), inputs[0].data_type())};
}

OpSchema::Cost CostOfConvTranspose(const OperatorDef& def, const std::vector<TensorShape>& inputs) {
  if (inputs[0].unknown_shape() || inputs[1].unknown_shape()) return {};
  const ConvShape shape = MakeTransposedConvShape(
      WindowArguments(ArgumentHelper(def)), GetDimsVector(inputs[0]), GetDimsVector(inputs[1]));
  OpSchema::Cost cost;
  cost.flops = shape.Flops();
  cost.bytes_read = NbytesOf(inputs[0]) + NbytesOf(inputs[1]);
  cost.bytes_written = NbytesOf(InferConvTranspose(def, inputs)[0]);
  cost.params_bytes = NbytesOf(inputs[1]);
  return cost;
}

std::vector<TensorShape> InferConvTransposeGradient(const OperatorDef& def,
                                                    const std::vector<TensorShape>& inputs) {
  const ArgumentHelper arguments(def);
  std::vector<TensorShape> outputs = {inputs[1]};
  if (!arguments.GetSingleArgument<bool>("no_bias", false)) {
    if (inputs[2].unknown_shape()) {
      outputs.push_back(UnknownTensorShape());
    } else {
      const ImageShape y =
          ImageShape::FromDims(GetDimsVector(inputs[2]), ReadStorageOrder(arguments));
      outputs.push_back(CreateTensorShape({y.channels}, TensorProto::FLOAT));
    }
  }
  if (def.output_size() > static_cast<int>(outputs.size())) outputs.push_back(inputs[0]);
  return outputs;
}

void DescribeTransposed(OpSchema& schema) {
  schema.FillUsing(DescribeWindow)
      .Arg<int>("adj",
                "Rows and columns added at the end of Y, less than the stride; default 0. Or adj_h "
                "and adj_w, or adjs.")
      .Arg<int>("group", "(> 0, default 1) Number of groups that channels and filters fall into.");
}

class GetConvTransposeGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    const bool has_bias = Def().input_size() == 3;
    std::vector<std::string> outputs = {GI(1)};
    if (has_bias) outputs.push_back(GI(2));
    if (!ArgumentHelper(Def()).GetSingleArgument<bool>("no_gradient_to_input", false)) {
      outputs.push_back(GI(0));
    }
    return SingleGradientDef("ConvTransposeGradient", "",
                             std::vector<std::string>{I(0), I(1), GO(0)}, outputs,
                             std::vector<Argument>{MakeArgument<int>("no_bias", !has_bias)});
  }
};

REGISTER_CPU_OPERATOR(ConvTranspose, ConvTransposeOp);
OPERATOR_SCHEMA(ConvTranspose)
    .NumInputs(2, 3)
    .NumOutputs(1)
    .FillUsing(DescribeTransposed)
    .Arg<bool>("no_gradient_to_input",
               "(default 0) 1: the gradient operator does not compute the gradient of X.")
    .TensorInferenceFunction(InferConvTranspose)
    .CostInferenceFunction(CostOfConvTranspose)
    .Input(0, "X",
           "N x C x H x W (NCHW) or N x H x W x C (NHWC); 1 to 3 spatial axes; float or "
           "bfloat16, on CUDA devices also float16.")
    .Input(1, "filter",
           "C x M/group x kernel (NCHW) or C x kernel x M/group (NHWC), of X's type "
           "or float.")
    .Input(2, "bias", "M values, float, optional.")
    .Output(0, "Y",
            "N x M x H' x W' or N x H' x W' x M, of X's type, with H' = (H - 1) * stride + "
            "kernel + adj - pads.")
    .SetDoc(
        "Transposed convolution: adds the filter, times each pixel of X, to Y at distances of "
        "stride. This is the gradient of Conv with respect to its input.");
REGISTER_GRADIENT(ConvTranspose, GetConvTransposeGradient);

REGISTER_CPU_OPERATOR(ConvTransposeGradient, ConvTransposeGradientOp);
OPERATOR_SCHEMA(ConvTransposeGradient)
    .NumInputs(3)
    .NumOutputs(1, 3)
    .FillUsing(DescribeTransposed)
    .TensorInferenceFunction(InferConvTransposeGradient)
    .Arg<bool>("no_bias", "1: there is no output dbias. Default 0.")
    .Input(0, "X", "The forward operator's input.")
    .Input(1, "filter", "The forward operator's filter.")
    .Input(2, "dY", "Gradient of the forward output, in its shape and X's type.")
    .Output(0, "dfilter", "Gradient of the filter, in its shape and type.")
    .Output(1, "dbias", "Gradient of the bias, M values, float; with no_bias dX takes this place.")
    .Output(2, "dX", "Optional: gradient of X.")
    .SetDoc("Gradients of ConvTranspose. Output order is Caffe2's: dfilter, dbias, dX.");
NO_GRADIENT(ConvTransposeGradient);

}  // namespace
}  // namespace caffe2
