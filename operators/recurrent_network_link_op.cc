// The operators that RecurrentNetwork and its gradient put into step nets.
#include "operators/recurrent_network.h"

namespace caffe2 {
namespace {

int64_t ReadTimestep(const OperatorBase& op) {
  const auto& timestep = op.Input<Tensor>(0);
  CAFFE_ENFORCE_EQ(timestep.numel(), 1, "the timestep must be one int32, but has shape ",
                   ShapeString(timestep.sizes()));
  return *timestep.data<int32_t>();
}

template <class Context>
class RNNApplyLinkOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  RNNApplyLinkOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        offset_(this->template GetSingleArgument<int>("offset", 0)),
        window_(this->template GetSingleArgument<int>("window", 1)) {
    CAFFE_ENFORCE_GT(window_, 0);
  }

  bool RunOnDevice() override {
    LinkRows(Input(EXTERNAL), ReadTimestep(*this) + offset_, window_, Output(INTERNAL));
    return true;
  }

 private:
  enum { TIMESTEP, EXTERNAL };
  enum { INTERNAL };
  int offset_, window_;
};

template <class Context>
class AccumulateInputGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  AccumulateInputGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), offset_(this->template GetSingleArgument<int>("offset", 0)) {}

  bool RunOnDevice() override {
    const Tensor& outer = Input(OUTER);
    Tensor* gradient = Output(GRADIENT);
    CAFFE_ENFORCE(outer.dim() > 0 && gradient->dim() > 0, "tensors without a dimension of time");
    const int64_t t = ReadTimestep(*this), row = outer.size_from_dim(1);
    CAFFE_ENFORCE_EQ(row, gradient->size_from_dim(1), "rows of different sizes: shapes ",
                     ShapeString(outer.sizes()), " and ", ShapeString(gradient->sizes()));
    CAFFE_ENFORCE(
        t >= 0 && t < outer.size(0) && t + offset_ >= 0 && t + offset_ < gradient->size(0), "row ",
        t, " of shape ", ShapeString(outer.sizes()), " or row ", t + offset_, " of shape ",
        ShapeString(gradient->sizes()), " does not exist");
    AddTo(row, outer.data<float>() + t * row, gradient->mutable_data<float>() + (t + offset_) * row,
          &context_);
    return true;
  }

 private:
  enum { TIMESTEP, OUTER };
  enum { GRADIENT };
  int offset_;
};

std::vector<TensorShape> InferLink(const OperatorDef& def, const std::vector<TensorShape>& in) {
  TensorShape internal = in.at(1);
  internal.set_dims(0, ArgumentHelper(def).GetSingleArgument<int>("window", 1));
  return {internal, in[1]};
}

}  // namespace

REGISTER_CPU_OPERATOR(rnn_internal_apply_link, RNNApplyLinkOp<CPUContext>);
REGISTER_CPU_OPERATOR(rnn_internal_accumulate_gradient_input,
                      AccumulateInputGradientOp<CPUContext>);

OPERATOR_SCHEMA(rnn_internal_apply_link)
    .NumInputs(2)
    .NumOutputs(2)
    .EnforceInplace({{1, 1}})
    .Private()
    .TensorInferenceFunction(InferLink)
    .SetDoc(
        "Makes a blob of a step net a view of some rows of a tensor outside: what is written to "
        "one "
        "is read from the other.")
    .Arg("offset", "(int, default 0) The first row is timestep + offset.")
    .Arg("window", "(int, default 1) The number of rows.")
    .Input(0, "timestep", "The number of the step: one int32 in host memory.")
    .Input(1, "external", "A tensor whose first dimension is time.")
    .Output(0, "internal", "[window, further dimensions of external].")
    .Output(1, "external", "The second input, whose contents may now change.");
OPERATOR_SCHEMA(rnn_internal_accumulate_gradient_input)
    .NumInputs(3)
    .NumOutputs(1)
    .EnforceInplace({{2, 0}})
    .Private()
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in.at(2)};
    })
    .SetDoc("gradient[timestep + offset] += outer_gradient[timestep].")
    .Arg("offset", "(int, default 0) See above.")
    .Input(0, "timestep", "The number of the step: one int32 in host memory.")
    .Input(1, "outer_gradient", "Floats; the first dimension is time.")
    .Input(2, "gradient", "Floats with rows of the same size.")
    .Output(0, "gradient", "The third input.");
NO_GRADIENT(rnn_internal_apply_link);
NO_GRADIENT(rnn_internal_accumulate_gradient_input);

}  // namespace caffe2
