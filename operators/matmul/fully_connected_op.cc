#include "operators/matmul/fully_connected_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(FC, FullyConnectedOp<CPUContext, false>);
REGISTER_CPU_OPERATOR(FCTransposed, FullyConnectedOp<CPUContext, true>);
REGISTER_CPU_OPERATOR(FCGradient, FullyConnectedGradientOp<CPUContext, false>);
REGISTER_CPU_OPERATOR(FCTransposedGradient, FullyConnectedGradientOp<CPUContext, true>);

namespace {

int Axis(const OperatorDef& def, const char* name, int ndim) {
  const int axis = ArgumentHelper(def).GetSingleArgument<int>(name, 1);
  CAFFE_ENFORCE(axis >= -ndim && axis < ndim, "argument ", name, " (", axis,
                ") is out of range for ", ndim, " axes");
  return axis < 0 ? axis + ndim : axis;
}

std::vector<int64_t> OutputDims(const OperatorDef& def, const TensorShape& x, const TensorShape& w,
                                bool transposed) {
  std::vector<int64_t> dims = GetDimsVector(x);
  const std::vector<int64_t> w_dims = GetDimsVector(w);
  const int w_axis = Axis(def, "axis_w", w.dims_size());
  dims.resize(Axis(def, "axis", x.dims_size()));
  dims.push_back(transposed ? CheckedNumel(w_dims.data() + w_axis, w_dims.size() - w_axis)
                            : CheckedNumel(w_dims.data(), w_axis));
  return dims;
}

OpSchema::TensorInference InferForward(bool transposed) {
  return [transposed](const OperatorDef& def, const std::vector<TensorShape>& in) {
    return std::vector<TensorShape>{
        CreateTensorShape(OutputDims(def, in[0], in[1], transposed), in[0].data_type())};
  };
}

OpSchema::TensorInference InferGradient(bool transposed) {
  return [transposed](const OperatorDef& def, const std::vector<TensorShape>& in) {
    const int64_t n = OutputDims(def, in[0], in[1], transposed).back();
    std::vector<TensorShape> out{in[1], CreateTensorShape({n}, in[1].data_type())};
    if (def.output_size() > 2) out.push_back(in[0]);
    return out;
  };
}

// One product of 2 m n k operations, or two or three for the gradient.
OpSchema::CostInference CostOf(bool transposed, bool gradient) {
  return [transposed, gradient](const OperatorDef& def, const std::vector<TensorShape>& in) {
    const uint64_t y_size = CheckedNumel(OutputDims(def, in[0], in[1], transposed));
    const uint64_t n = OutputDims(def, in[0], in[1], transposed).back();
    const uint64_t k = n == 0 ? 0 : NumelOf(in[1]) / n;
    const int products = gradient ? def.output_size() - 1 : 1;
    OpSchema::Cost cost;
    cost.flops = products * 2 * y_size * k + y_size;
    for (const TensorShape& input : in) cost.bytes_read += NbytesOf(input);
    const uint64_t y_bytes = y_size * DataTypeToTypeMeta(in[0].data_type()).itemsize();
    cost.bytes_written = gradient ? NbytesOf(in[1]) : y_bytes;
    if (gradient && def.output_size() > 2) cost.bytes_written += NbytesOf(in[0]);
    cost.params_bytes = NbytesOf(in[1]) + (gradient ? 0 : NbytesOf(in[2]));
    return cost;
  };
}

void AxisArguments(OpSchema& schema) {
  schema
      .Arg<int>("axis",
                "(default 1) X is taken as a matrix: axes before this one are its rows, the others "
                "its columns.")
      .Arg<int>("axis_w", "(default 1) The same for W.");
}

void ConstantFilterArgument(OpSchema& schema) {
  schema.Arg<bool>(
      "constant_filter",
      "1: W does not change as long as its storage stays the same, so that the host converts it to "
      "its kernel's layout once. Default 0: the kernel reads it as it is.");
}

void GradientSchema(OpSchema& schema) {
  schema.NumInputs(3)
      .NumOutputs(2, 3)
      .FillUsing(AxisArguments)
      .Input(0, "X", "The input of the forward operator.")
      .Input(1, "W", "Its weights.")
      .Input(2, "dY", "The gradient of its output.")
      .Output(0, "dW", "The gradient of the weights.")
      .Output(1, "db", "The gradient of the bias.")
      .Output(2, "dX", "Optional: the gradient of the input.");
}

}  // namespace

OPERATOR_SCHEMA(FC)
    .NumInputs(3)
    .NumOutputs(1)
    .TensorInferenceFunction(InferForward(false))
    .CostInferenceFunction(CostOf(false, false))
    .SetDoc(
        "A fully connected layer: Y = X W^T + b, for float and bfloat16 tensors, on CUDA devices "
        "also float16.")
    .FillUsing(AxisArguments)
    .FillUsing(ConstantFilterArgument)
    .Input(0, "X", "The input, seen as an M x K matrix.")
    .Input(1, "W", "The weights, seen as an N x K matrix.")
    .Input(2, "b", "The bias, of shape [N].")
    .Output(0, "Y", "The axes of X before `axis`, then one axis of size N.");

OPERATOR_SCHEMA(FCTransposed)
    .NumInputs(3)
    .NumOutputs(1)
    .TensorInferenceFunction(InferForward(true))
    .CostInferenceFunction(CostOf(true, false))
    .SetDoc("A fully connected layer with weights stored transposed: Y = X W + b.")
    .FillUsing(AxisArguments)
    .FillUsing(ConstantFilterArgument)
    .Input(0, "X", "The input, seen as an M x K matrix.")
    .Input(1, "W", "The weights, seen as a K x N matrix.")
    .Input(2, "b", "The bias, of shape [N].")
    .Output(0, "Y", "The axes of X before `axis`, then one axis of size N.");

OPERATOR_SCHEMA(FCGradient)
    .FillUsing(GradientSchema)
    .SetDoc("The gradients of FC: dW = dY^T X, db = the column sums of dY, dX = dY W.")
    .TensorInferenceFunction(InferGradient(false))
    .CostInferenceFunction(CostOf(false, true));

OPERATOR_SCHEMA(FCTransposedGradient)
    .FillUsing(GradientSchema)
    .SetDoc("The gradients of FCTransposed: dW = X^T dY, db = the column sums of dY, dX = dY W^T.")
    .TensorInferenceFunction(InferGradient(true))
    .CostInferenceFunction(CostOf(true, true));

class GetFullyConnectedGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef(Def().type() + "Gradient", "", std::vector{I(0), I(1), GO(0)},
                             std::vector{GI(1), GI(2), GI(0)});
  }
};
REGISTER_GRADIENT(FC, GetFullyConnectedGradient);
REGISTER_GRADIENT(FCTransposed, GetFullyConnectedGradient);

}  // namespace caffe2
