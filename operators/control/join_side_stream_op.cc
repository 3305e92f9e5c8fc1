#include "operators/control/join_side_stream_op.h"

namespace caffe2 {

// The CPU does everything in line.
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
    .NumInputs(1, INT_MAX)
    .NumOutputs(1, INT_MAX)
    .NumInputsOutputs([](int inputs, int outputs) { return outputs <= inputs; })
    .EnforceOneToOneInplace()
    .TensorInferenceFunction(ShapesOfResults)
    .CostInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>&) {
      return OpSchema::Cost{};
    })
    .Input(0, "X",
           "What an operator with the argument side_stream forms aside: dfilter of "
           "ConvGradient; further results follow, and then what that work reads.")
    .Output(0, "Y", "The same blob, which is there now; further results likewise.")
    .SetDoc(
        "The end of what an operator does on a second stream of its device: what follows in the "
        "net "
        "comes behind it. Who reads the outputs reads the results, and as the operator lists what "
        "the work reads, that stays as it is until here, in every executor and in planned memory. "
        "Does not touch the blobs; without effect on the CPU, and where the work is done already.");
NO_GRADIENT(JoinSideStream);

}  // namespace
}  // namespace caffe2
