// Convolution on the CPU, by oneDNN.
#include "operators/conv/conv_op.h"

#include <optional>

#include "caffe2/core/operator.h"

namespace caffe2 {
namespace {

// The work on the convolution's result in the same pass.
enum class Epilogue { kNone, kRelu, kSum, kSumRelu };

// X, filter, [bias], [Z for the forms with a sum] -> Y.
template <Epilogue kEpilogue>
class ConvOp final : public Operator<CPUContext> {
 public:
  ConvOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        arguments_(ArgumentHelper(def)),
        algorithm_(ReadConvAlgorithm(ArgumentHelper(def))),
        constant_filter_(GetSingleArgument<bool>("constant_filter", false)),
        has_bias_(InputSize() > (kSum ? 3 : 2)) {
    CAFFE_ENFORCE(!arguments_.global_pooling(),
                  "a convolution does not take the argument global_pooling");
    for (int i = 0; i < InputSize(); ++i) {
      CAFFE_ENFORCE(!IsInputOutputAlias(i, 0) || (kSum && i == InputSize() - 1), "input ", i,
                    " and the output are the same blob ", def.output(0));
    }
  }

  bool RunOnDevice() override {
    const Tensor& x = Input(0);
    const Tensor& filter = Input(1);
    const Tensor* bias = has_bias_ ? &Input(2) : nullptr;
    Prepare(x, filter, bias);
    // The kernels tell filters apart by their addresses: memory of the last one must not be used
    // again for another.
    if (constant_filter_ && !filter.shares_storage_with(filter_)) filter_.ShareData(filter);
    if (kSum) {
      const Tensor& z = Input(InputSize() - 1);
      CAFFE_ENFORCE(z.sizes() == y_dims_, "Z must have the shape of Y, ", ShapeString(y_dims_),
                    "; found ", ShapeString(z.sizes()));
      CAFFE_ENFORCE(z.dtype() == x.dtype(), "Z must have the type of X: Z is ", z.dtype().name(),
                    ", X ", x.dtype().name());
      if (!IsInputOutputAlias(InputSize() - 1, 0)) Output(0)->CopyFrom(z);
    }
    Tensor* y = Output(0);
    y->Resize(y_dims_);
    void* y_data = y->raw_mutable_data(x.dtype());
    if (y->numel() == 0) return true;
    conv_->Run(x.raw_data(), filter.raw_data(), bias ? bias->raw_data() : nullptr, y_data);
    return true;
  }

 private:
  static constexpr bool kSum = kEpilogue == Epilogue::kSum || kEpilogue == Epilogue::kSumRelu;
  static constexpr bool kRelu = kEpilogue == Epilogue::kRelu || kEpilogue == Epilogue::kSumRelu;

  // Creates the primitive again if shapes or types have changed since the last run.
  void Prepare(const Tensor& x, const Tensor& filter, const Tensor* bias) {
    CAFFE_ENFORCE(x.has_data() && filter.has_data(), "the input or the filter holds no data");
    const TypeMeta bias_type = bias ? bias->dtype() : TypeMeta();
    if (bias) {
      CAFFE_ENFORCE(bias->has_data() && bias->dim() == 1 && bias->size(0) == filter.size(0),
                    "the bias must have one value for each filter: the bias is ",
                    bias->DebugString(), ", the filter ", filter.DebugString());
    }
    if (conv_ && x.sizes() == x_dims_ && filter.sizes() == filter_dims_ &&
        x.dtype() == problem_.type && filter.dtype() == problem_.filter_type &&
        bias_type == problem_.bias_type) {
      return;
    }
    const ConvShape shape = ConvShape::Make(arguments_, x.sizes(), filter.sizes());
    conv_.reset();
    x_dims_ = x.sizes();
    filter_dims_ = filter.sizes();
    y_dims_ = shape.y.ToDims(arguments_.order());
    problem_ =
        MakeConvProblem(shape, arguments_.channels_last(), x.dtype(), filter.dtype(), bias_type);
    problem_.algorithm = algorithm_;
    problem_.relu = kRelu;
    problem_.add_to_dst = kSum;
    problem_.constant_filter = constant_filter_;
    if (shape.x.batch > 0) conv_.emplace(problem_);
  }

  const WindowArguments arguments_;
  const onednn::ConvAlgorithm algorithm_;
  const bool constant_filter_;
  const bool has_bias_;
  std::vector<int64_t> x_dims_, filter_dims_, y_dims_;
  Tensor filter_{CPU};  // constant: the one of the last run
  onednn::ConvProblem problem_;
  std::optional<onednn::ConvForward> conv_;
};

void DescribeConv(OpSchema& schema) {
  schema.FillUsing(DescribeWindow)
      .Arg<int>("group", "(> 0, default 1) Number of groups that channels and filters fall into.")
      .FillUsing(DescribeConvAlgorithm)
      .Arg<bool>(
          "constant_filter",
          "1: the filter does not change as long as its storage stays the same, so that it is "
          "converted to the kernels' layout once. Default 0: it is converted in every run.")
      .Arg<bool>("no_gradient_to_input",
                 "(default 0) 1: the gradient operator does not compute the gradient of X.")
      .Input(0, "X",
             "N x C x H x W (NCHW) or N x H x W x C (NHWC); 1 to 3 spatial axes; float or "
             "bfloat16, on CUDA devices also float16.")
      .Input(1, "filter",
             "M x C/group x kernel (NCHW) or M x kernel x C/group (NHWC), of X's type "
             "or float.")
      .Output(0, "Y",
              "N x M x H' x W' or N x H' x W' x M, of X's type, with H' = (H + pads - "
              "dilation * (kernel - 1) - 1) / stride + 1.")
      .TensorInferenceFunction(InferConv)
      .CostInferenceFunction(CostOfConv);
}

void ConvSchema(OpSchema& schema) {
  schema.NumInputs(2, 3)
      .NumOutputs(1)
      .FillUsing(DescribeConv)
      .Input(2, "bias", "M values, optional.")
      .SetDoc(
          "Convolution: slides each of the M filters over the image. As in other frameworks, this "
          "is a cross-correlation: filters are not flipped. Semantics and arguments are Caffe2's.");
}

constexpr char kFusedDoc[] =
    " in one pass over the result. It computes what the separate operators do, rounded once "
    "instead of after each.";

using ConvForwardOp = ConvOp<Epilogue::kNone>;
REGISTER_CPU_OPERATOR(Conv, ConvForwardOp);
REGISTER_CPU_OPERATOR(Conv1D, ConvForwardOp);
REGISTER_CPU_OPERATOR(Conv2D, ConvForwardOp);
REGISTER_CPU_OPERATOR(Conv3D, ConvForwardOp);
REGISTER_CPU_OPERATOR(ConvRelu, ConvOp<Epilogue::kRelu>);
REGISTER_CPU_OPERATOR(ConvSum, ConvOp<Epilogue::kSum>);
REGISTER_CPU_OPERATOR(ConvSumRelu, ConvOp<Epilogue::kSumRelu>);

OPERATOR_SCHEMA(Conv).FillUsing(ConvSchema);
OPERATOR_SCHEMA(Conv1D).FillUsing(ConvSchema);
OPERATOR_SCHEMA(Conv2D).FillUsing(ConvSchema);
OPERATOR_SCHEMA(Conv3D).FillUsing(ConvSchema);
OPERATOR_SCHEMA(ConvRelu)
    .NumInputs(2, 3)
    .NumOutputs(1)
    .FillUsing(DescribeConv)
    .Input(2, "bias", "M values, optional.")
    .SetDoc(std::string("Y = max(0, Conv(X, filter, bias))") + kFusedDoc);

void ConvSumSchema(OpSchema& schema) {
  schema.NumInputs(3, 4)
      .NumOutputs(1)
      .AllowInplace([](int input, int output) { return input >= 2 && output == 0; })
      .FillUsing(DescribeConv)
      .Input(2, "bias_or_Z", "With four inputs, M values of bias; with three, Z.")
      .Input(
          3, "Z",
          "The tensor to add, of Y's shape and type. It is always the last input. If Y is the same "
          "blob, this saves a copy.");
}
OPERATOR_SCHEMA(ConvSum)
    .FillUsing(ConvSumSchema)
    .SetDoc(std::string("Y = Conv(X, filter, bias) + Z") + kFusedDoc);
OPERATOR_SCHEMA(ConvSumRelu)
    .FillUsing(ConvSumSchema)
    .SetDoc(std::string("Y = max(0, Conv(X, filter, bias) + Z)") + kFusedDoc);

}  // namespace
}  // namespace caffe2
