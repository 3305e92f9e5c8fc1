// Gradients of Conv and of its fused forms on the CPU.
#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>

#include "caffe2/core/operator.h"
#include "caffe2/utils/parallel.h"
#include "operators/conv/conv_op.h"

namespace caffe2 {

ConvGradientOutputs::ConvGradientOutputs(const OperatorBase& op)
    : no_bias(op.GetSingleArgument<bool>("no_bias", false)),
      input_gradient(op.OutputSize() > (no_bias ? 1 : 2)),
      adds(op.InputSize() > 3) {
  CAFFE_ENFORCE(op.OutputSize() >= (no_bias ? 1 : 2) && op.OutputSize() <= (no_bias ? 2 : 3),
                "there must be an output dfilter, ", no_bias ? "" : "an output dbias, ",
                "and possibly an output dX; found ", op.OutputSize(), " outputs");
  CAFFE_ENFORCE(!adds || (input_gradient && op.IsInputOutputAlias(3, op.OutputSize() - 1)),
                "input S (", op.debug_def().input(3), ") must be the blob of the output dX");
}

void ConvGradientOutputs::CheckInputs(const OperatorBase& op,
                                      const std::vector<int64_t>& y_dims) const {
  const Tensor &x = op.Input<Tensor>(0), &dy = op.Input<Tensor>(2);
  CAFFE_ENFORCE(dy.has_data(), "dY holds no data");
  CAFFE_ENFORCE(dy.dtype() == x.dtype(), "dY must have the type of X: dY is ", dy.dtype().name(),
                ", X ", x.dtype().name());
  CAFFE_ENFORCE(dy.sizes() == y_dims, "dY must have the shape of Y, ", ShapeString(y_dims),
                "; found ", ShapeString(dy.sizes()));
  if (!adds) return;
  const Tensor& accumulator = op.Input<Tensor>(3);
  CAFFE_ENFORCE(accumulator.sizes() == x.sizes() && accumulator.dtype() == x.dtype(),
                "input S must have the shape and type of X: S is ", accumulator.DebugString(),
                ", X is ", x.DebugString());
}

namespace {

// sum += x, element by element.
struct Adder {
  const Tensor& x;
  Tensor* sum;

  template <typename T>
  bool DoRunWithType() {
    const T* from = x.data<T>();
    T* to = sum->mutable_data<T>();
    ParallelFor(x.numel(), int64_t{1} << 14, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if constexpr (std::is_same_v<T, float>) {
          to[i] += from[i];
        } else {
          to[i] = ToBFloat16(ToFloat(to[i]) + ToFloat(from[i]));
        }
      }
    });
    return true;
  }
};

// X, filter, dY, [S] -> dfilter, [dbias], [dX].
class ConvGradientOp final : public Operator<CPUContext> {
 public:
  ConvGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        arguments_(ArgumentHelper(def)),
        algorithm_(ReadConvAlgorithm(ArgumentHelper(def))),
        outputs_(*this) {
    CAFFE_ENFORCE(!GetSingleArgument<bool>("float_gradients", false),
                  "float_gradients is for CUDA devices only");
  }

  bool RunOnDevice() override {
    const Tensor& x = Input(0);
    const Tensor& filter = Input(1);
    const Tensor& dy = Input(2);
    Prepare(x, filter);
    Tensor* d_filter = Output(0);
    d_filter->ResizeLike(filter);
    void* d_filter_data = d_filter->raw_mutable_data(filter.dtype());
    void* d_bias_data = nullptr;
    if (!outputs_.no_bias) {
      Output(1)->Resize(filter.size(0));
      d_bias_data = Output(1)->raw_mutable_data(filter.dtype());
    }
    if (x.size(0) == 0) {  // an empty batch: the gradients are 0
      std::memset(d_filter_data, 0, d_filter->nbytes());
      if (!outputs_.no_bias) std::memset(d_bias_data, 0, Output(1)->nbytes());
    } else {
      backward_filter_->Run(x.raw_data(), dy.raw_data(), d_filter_data, d_bias_data);
    }
    if (outputs_.input_gradient) InputGradient(x, filter, dy);
    return true;
  }

 private:
  void InputGradient(const Tensor& x, const Tensor& filter, const Tensor& dy) {
    Tensor* dx = Output(OutputSize() - 1);
    dx->ResizeLike(x);
    if (x.size(0) == 0) return (void)dx->raw_mutable_data(x.dtype());
    if (!outputs_.adds || adds_in_place_) {
      backward_data_->Run(dy.raw_data(), filter.raw_data(), dx->raw_mutable_data(x.dtype()));
      return;
    }
    apart_.ResizeLike(x);
    backward_data_->Run(dy.raw_data(), filter.raw_data(), apart_.raw_mutable_data(x.dtype()));
    Adder adder{apart_, dx};
    TensorTypes<float, bfloat16>::Dispatch(&adder, x.dtype());
  }

  void Prepare(const Tensor& x, const Tensor& filter) {
    CAFFE_ENFORCE(x.has_data() && filter.has_data(), "the input or the filter holds no data");
    const bool same = backward_filter_ && x.sizes() == x_dims_ && filter.sizes() == filter_dims_ &&
                      x.dtype() == problem_.type && filter.dtype() == problem_.filter_type;
    if (!same) Make(x, filter);
    outputs_.CheckInputs(*this, dy_dims_);
  }

  void Make(const Tensor& x, const Tensor& filter) {
    const ConvShape shape = ConvShape::Make(arguments_, x.sizes(), filter.sizes());
    backward_filter_.reset();
    backward_data_.reset();
    x_dims_ = x.sizes();
    filter_dims_ = filter.sizes();
    dy_dims_ = shape.y.ToDims(arguments_.order());
    problem_ = MakeConvProblem(shape, arguments_.channels_last(), x.dtype(), filter.dtype(),
                               outputs_.no_bias ? TypeMeta() : filter.dtype());
    problem_.algorithm = algorithm_;
    if (shape.x.batch == 0) return;
    backward_filter_.emplace(problem_);
    if (!outputs_.input_gradient) return;
    onednn::ConvProblem of_input = problem_;
    of_input.bias_type = TypeMeta();
    adds_in_place_ = outputs_.adds && onednn::AddsDataGradient(of_input);
    of_input.add_to_dst = adds_in_place_;
    backward_data_.emplace(of_input);
  }

  const WindowArguments arguments_;
  const onednn::ConvAlgorithm algorithm_;
  const ConvGradientOutputs outputs_;
  std::vector<int64_t> x_dims_, filter_dims_, dy_dims_;
  onednn::ConvProblem problem_;
  std::optional<onednn::ConvBackwardFilter> backward_filter_;
  std::optional<onednn::ConvBackwardData> backward_data_;
  bool adds_in_place_ = false;
  Tensor apart_;  // what is added to S, unless it is in place
};

void ConvGradientSchema(OpSchema& schema) {
  schema.NumInputs(3, 4)
      .NumOutputs(1, 3)
      .AllowInplace([](int input, int output) { return input == 3 && output > 0; })
      .FillUsing(DescribeWindow)
      .FillUsing(DescribeConvAlgorithm)
      .Arg<int>("group", "As in the forward operator.")
      .Arg<bool>("no_bias",
                 "1: the forward operator has no bias, and there is no output dbias. Default 0.")
      .Arg<bool>("float_gradients",
                 "(default false) dfilter and dbias are float although the filter is not, because "
                 "it is a copy of a float parameter. CUDA devices only.")
      .Input(0, "X", "The forward operator's input.")
      .Input(1, "filter", "The forward operator's filter.")
      .Input(2, "dY", "Gradient of the forward output, in its shape and X's type.")
      .Input(3, "S",
             "Optional: a gradient to which dX is added. The same blob as dX, with X's shape and "
             "type.")
      .Output(0, "dfilter", "Gradient of the filter, in its shape and type.")
      .Output(1, "dbias",
              "Gradient of the bias, M values of the filter's type; with no_bias dX "
              "takes this place.")
      .Output(2, "dX", "Optional: gradient of X.")
      .TensorInferenceFunction(InferConvGradient)
      .CostInferenceFunction(CostOfConvGradient)
      .SetDoc("Gradients of a convolution. Output order is Caffe2's: dfilter, dbias, dX.");
}

REGISTER_CPU_OPERATOR(ConvGradient, ConvGradientOp);
REGISTER_CPU_OPERATOR(Conv1DGradient, ConvGradientOp);
REGISTER_CPU_OPERATOR(Conv2DGradient, ConvGradientOp);
REGISTER_CPU_OPERATOR(Conv3DGradient, ConvGradientOp);
OPERATOR_SCHEMA(ConvGradient).FillUsing(ConvGradientSchema);
OPERATOR_SCHEMA(Conv1DGradient).FillUsing(ConvGradientSchema);
OPERATOR_SCHEMA(Conv2DGradient).FillUsing(ConvGradientSchema);
OPERATOR_SCHEMA(Conv3DGradient).FillUsing(ConvGradientSchema);
NO_GRADIENT(ConvGradient);
NO_GRADIENT(Conv1DGradient);
NO_GRADIENT(Conv2DGradient);
NO_GRADIENT(Conv3DGradient);

// The gradient of Conv, Conv1D, ... and of the Sum and Relu in the fused forms.
class GetConvGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;

  std::vector<OperatorDef> GetGradientDefs() override {
    const bool relu = Def().type() == "ConvRelu" || Def().type() == "ConvSumRelu";
    const bool sum = Def().type() == "ConvSum" || Def().type() == "ConvSumRelu";
    const int last = Def().input_size() - 1;
    std::vector<OperatorDef> defs;
    std::string d_conv = GO(0);
    if (relu) {
      d_conv = sum ? GI(last) : GradientName(O(0)) + "_before_relu";
      defs.push_back(CreateOperatorDef("ReluGradient", "", {O(0), GO(0)}, {d_conv}));
    } else if (sum) {
      SetDense(last, d_conv);
    }
    defs.push_back(ConvDef(d_conv, last - (sum ? 1 : 0) == 2));
    return defs;
  }

 private:
  OperatorDef ConvDef(const std::string& d_conv, bool has_bias) {
    const bool fused = Def().type().find("Relu") != std::string::npos ||
                       Def().type().find("Sum") != std::string::npos;
    std::vector<std::string> outputs = {GI(1)};
    if (has_bias) outputs.push_back(GI(2));
    // brew sets it on the first layer, whose input is data.
    if (!ArgumentHelper(Def()).GetSingleArgument<bool>("no_gradient_to_input", false)) {
      outputs.push_back(GI(0));
    }
    return CreateOperatorDef((fused ? "Conv" : Def().type()) + "Gradient", "", {I(0), I(1), d_conv},
                             outputs, {MakeArgument<int>("no_bias", has_bias ? 0 : 1)});
  }
};
REGISTER_GRADIENT(Conv, GetConvGradient);
REGISTER_GRADIENT(Conv1D, GetConvGradient);
REGISTER_GRADIENT(Conv2D, GetConvGradient);
REGISTER_GRADIENT(Conv3D, GetConvGradient);
REGISTER_GRADIENT(ConvRelu, GetConvGradient);
REGISTER_GRADIENT(ConvSum, GetConvGradient);
REGISTER_GRADIENT(ConvSumRelu, GetConvGradient);

}  // namespace
}  // namespace caffe2
