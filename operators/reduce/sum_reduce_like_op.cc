#include "operators/reduce/sum_reduce_like_op.h"

#include "operators/common/sum_to.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(SumReduceLike, SumReduceLikeOp<CPUContext>);
OPERATOR_SCHEMA(SumReduceLike)
    .NumInputs(2)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{CreateTensorShape(GetDimsVector(in[1]), in[0].data_type())};
    })
    .SetDoc(
        "Sums A to the shape of B, which is a contiguous part of A's shape. The gradient of an "
        "operator with broadcast=1 uses it for its second operand.")
    .Arg<int>("axis",
              "The dimension of A at which the shape of B begins. Default -1: B's shape is the end "
              "of A's.")
    .Arg<std::string>("axis_str", "In place of axis: one letter of `order`.")
    .Arg<std::string>("order", "Meaning of the letters of axis_str. Default NCHW.")
    .Input(0, "A", "A tensor of a floating-point type; 16-bit ones are summed in float.")
    .Input(1, "B", "Gives the shape; its values are not read.")
    .Output(0, "C", "The sums, in the shape of B.");
SHOULD_NOT_DO_GRADIENT(SumReduceLike);

}  // namespace caffe2
