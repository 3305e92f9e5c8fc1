#include "operators/optimizer/wngrad_op.h"

namespace caffe2 {
namespace {

void DescribeWngrad(OpSchema& schema) {
  schema.Arg<float>("epsilon", "(default 1e-5) Added to the divisor.")
      .Input(0, "param", "The float parameter.")
      .Input(1, "seq_b", "One float, b; above 0 at the start.")
      .Output(0, "output_param", "The new parameter; most often the same blob.")
      .Output(1, "output_seq_b", "The new b.");
}

}  // namespace

REGISTER_CPU_OPERATOR(Wngrad, WngradOp<CPUContext>);
REGISTER_CPU_OPERATOR(SparseWngrad, SparseWngradOp<CPUContext>);
OPERATOR_SCHEMA(Wngrad)
    .NumInputs(4)
    .NumOutputs(2, 4)
    .AllowInplace({{0, 0}, {1, 1}})
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      std::vector<TensorShape> out{in[0], in[1], in[1], in[2]};
      out.resize(def.output_size());
      return out;
    })
    .FillUsing(DescribeWngrad)
    .SetDoc(
        "WNGrad (Wu, Ward & Bottou, 2018): param' = param + lr / (b + epsilon) * grad, b' = b + "
        "|grad|^2 / (b + epsilon), with one b for the whole parameter.")
    .Input(2, "grad", "The gradient, shaped like the parameter.")
    .Input(3, "lr", "The learning rate, a float scalar; negative to descend.")
    .Output(2, "output_effective_lr", "Optional: lr / (b + epsilon).")
    .Output(3, "output_update", "Optional: the number added to each element.");
OPERATOR_SCHEMA(SparseWngrad)
    .NumInputs(5)
    .NumOutputs(2)
    .EnforceOneToOneInplace()
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in[0], in[1]};
    })
    .FillUsing(DescribeWngrad)
    .SetDoc("Wngrad of the rows of a parameter that have a gradient.")
    .Input(2, "indices", "int32 or int64: the rows to update.")
    .Input(3, "grad", "Their gradients, one row for each index.")
    .Input(4, "lr", "The learning rate, a float scalar; negative to descend.");
SHOULD_NOT_DO_GRADIENT(Wngrad);
SHOULD_NOT_DO_GRADIENT(SparseWngrad);

}  // namespace caffe2
