#include "operators/matmul/tt_op.h"

#include "operators/common/host_device_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(TT, TtOp<CPUContext>);
OPERATOR_SCHEMA(TT)
    .NumInputs(3)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      CAFFE_ENFORCE(in[0].dims_size() >= 1, "X must have at least one axis, found a scalar");
      const int64_t out =
          CheckedNumel(ArgumentHelper(def).GetRepeatedArgument<int64_t>("out_sizes"));
      return std::vector<TensorShape>{CreateTensorShape({in[0].dims(0), out}, in[0].data_type())};
    })
    .SetDoc(
        "A fully connected layer Y = X M + b whose matrix M is a tensor train (Novikov et al., "
        "\"Tensorizing neural networks\", 2015): with inputs i_1 ... i_d and outputs o_1 ... o_d, "
        "M is the sum over r_1 ... r_(d-1) of the product over k of G_k[i_k, r_k, r_(k-1), o_k]. "
        "As in Caffe2 there is no gradient.")
    .ArgList<int>("inp_sizes", "The sizes of i_1 ... i_d; their product is the size of a row of X.",
                  true)
    .ArgList<int>("out_sizes", "The sizes of o_1 ... o_d.", true)
    .ArgList<int>("tt_ranks", "1, the sizes of r_1 ... r_(d-1), and 1.", true)
    .Input(0, "X", "Float, N x the product of inp_sizes.")
    .Input(1, "b", "Float, the product of out_sizes elements.")
    .Input(2, "cores", "Float: all elements of G_d, then of G_(d-1), and so on to G_1.")
    .Output(0, "Y", "Float, N x the product of out_sizes.");
SHOULD_NOT_DO_GRADIENT(TT);

}  // namespace caffe2
