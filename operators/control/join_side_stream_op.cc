#include "operators/control/join_side_stream_op.h"

namespace caffe2 {

// The CPU has no side streams.
template <>
bool JoinSideStreamOp<CPUContext>::RunOnDevice() {
  return true;
}

namespace {

std::vector<TensorShape> ShapesOfResults(const OperatorDef& def,
                                         const std::vector<TensorShape>& inputs) {
  return {inputs.begin(), inputs.begin() + def.output_size()};
}

REGISTER_CPU_OPERATOR(JoinSideStream, JoinSideStreamOp<CPUContext>);
OPERATOR_SCHEMA(JoinSideStream)
    .NumInputs(1, OpSchema::kUnlimited)
    .NumOutputs(1, OpSchema::kUnlimited)
    .NumInputsOutputs([](int inputs, int outputs) { return outputs <= inputs; })
    .EnforceOneToOneInplace()
    .TensorInferenceFunction(ShapesOfResults)
    .CostInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>&) {
      return OpSchema::Cost{};
    })
    .Input(0, "X",
           "The first result that an operator with the argument side_stream computes on a second "
           "stream: dfilter of ConvGradient. Its other results on that stream follow, and then the "
           "blobs that the work reads.")
    .Output(0, "Y", "The same blob, now complete; likewise the other results.")
    .SetDoc(
        "Lets later operators wait for the work of an earlier operator on a second stream of the "
        "device. The operator works in place: each output shares the tensor of its input. Because "
        "it lists the blobs that the work reads, no executor or memory plan changes them before. "
        "No effect on the CPU, or if the work is done.");
NO_GRADIENT(JoinSideStream);

}  // namespace
}  // namespace caffe2
