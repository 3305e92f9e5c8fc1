// DotProductWithPadding: products of pairs of rows of different length.
#include "operators/common/gradient_rule.h"
#include "operators/common/host_device_op.h"
#include "operators/loss/padded_product_op.h"

namespace caffe2 {
namespace {

void Arguments(OpSchema& schema) {
  schema.Arg<float>("pad_value", "(default 0) The value of the missing elements of shorter rows.")
      .Arg<bool>("replicate", "(default 0) 1: the shorter rows are repeated instead.");
}

}  // namespace

REGISTER_CPU_OPERATOR(DotProductWithPadding, DotProductWithPaddingOp<CPUContext>);
REGISTER_CPU_OPERATOR(DotProductWithPaddingGradient, DotProductWithPaddingGradientOp<CPUContext>);
OPERATOR_SCHEMA(DotProductWithPadding)
    .NumInputs(2)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{
          CreateTensorShape({in[0].dims_size() == 0 ? 1 : in[0].dims(0)}, in[0].data_type())};
    })
    .FillUsing(Arguments)
    .SetDoc(
        "Z[i] = the sum of X * Y over row i, where the shorter of the two rows is padded, or "
        "repeated, to the length of the other.")
    .Input(0, "X", "A float tensor [N, ...].")
    .Input(1, "Y", "A float tensor with as many rows.")
    .Output(0, "Z", "A float vector of N products.");
OPERATOR_SCHEMA(DotProductWithPaddingGradient)
    .NumInputs(3)
    .NumOutputs(2)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in[0], in[1]};
    })
    .FillUsing(Arguments)
    .SetDoc("The gradients of DotProductWithPadding.")
    .Input(0, "X", "As in the forward operator.")
    .Input(1, "Y", "As in the forward operator.")
    .Input(2, "dZ", "The gradient of the output.")
    .Output(0, "dX", "The gradient of X.")
    .Output(1, "dY", "The gradient of Y.");
REGISTER_GRADIENT(DotProductWithPadding, GradientRule<"I0 I1 GO0 -> GI0 GI1">);

}  // namespace caffe2
