#include "operators/optimizer/lars_op.h"

#include "operators/optimizer/sum_of_squares.h"

namespace caffe2 {

template <>
void SumOfSquares(int64_t n, const float* x, float* sum, CPUContext* /*context*/) {
  *sum = static_cast<float>(SumOfSquares(n, x));
}

REGISTER_CPU_OPERATOR(Lars, LarsOp<CPUContext>);

OPERATOR_SCHEMA(Lars)
    .NumInputs({2, 5, 6})
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{CreateTensorShape({1}, in[0].data_type())};
    })
    .InputsCanCrossDevices()
    .SetDoc(
        "Layer-wise adaptive rate scaling (You et al., 2017): a factor for the learning rate "
        "of one layer. With two inputs it is 1 / (|dX| / |X| + offset); with five it is trust "
        "/ (|dX| / |X| + wd + offset), kept within [lr_min, lr_max]. If |X| is 0 it is 1. "
        "With the input lr it is multiplied by it, and so is the rate itself.")
    .Arg<float>("offset", "(default 0.5) Added to the divisor.")
    .Arg<float>("lr_min", "(default 0.02) The least factor, with five inputs.")
    .Input(0, "X", "The float parameter.")
    .Input(1, "dX", "Its gradient.")
    .Input(2, "wd", "The weight decay, a float scalar.")
    .Input(3, "trust", "The trust coefficient, a float scalar.")
    .Input(4, "lr_max", "The largest factor, a float scalar.")
    .Input(5, "lr", "The learning rate, a float scalar, possibly on the host.")
    .Output(0, "lr_rescaled", "The factor, a float tensor of one element.");
SHOULD_NOT_DO_GRADIENT(Lars);

}  // namespace caffe2
