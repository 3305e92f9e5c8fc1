// UnsafeCoalesce: moves tensors into one block of memory. DataCouple and AsyncNetBarrier: operators
// that do nothing, but that a net runs after all operators that write their inputs.
#include "operators/shape/unsafe_coalesce_op.h"

#include "operators/common/no_op.h"

namespace caffe2 {
namespace {

void DescribePassThrough(OpSchema& schema) {
  schema.NumInputs(1, OpSchema::kUnlimited)
      .NumOutputs(1, OpSchema::kUnlimited)
      .EnforceOneToOneInplace()
      .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
        return std::vector<TensorShape>(in.begin(), in.begin() + def.output_size());
      })
      .Input(0, "input", "A tensor of any type; more may follow.")
      .Output(0, "output", "The same blobs, unchanged.");
}

}  // namespace

REGISTER_CPU_OPERATOR(UnsafeCoalesce, UnsafeCoalesceOp<CPUContext>);
REGISTER_CPU_OPERATOR(DataCouple, NoOp<CPUContext>);
REGISTER_CPU_OPERATOR(AsyncNetBarrier, NoOp<CPUContext>);
OPERATOR_SCHEMA(UnsafeCoalesce)
    .NumInputs(1, OpSchema::kUnlimited)
    .NumInputsOutputs([](int inputs, int outputs) { return outputs == inputs + 1; })
    .AllowOneToOneInplace()
    .EnforceInplace([](int input, int output) { return input == output; })
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      std::vector<TensorShape> out = in;
      int64_t total = 0;
      for (const TensorShape& shape : in) total += NumelOf(shape);
      out.push_back(CreateTensorShape({total}, in[0].data_type()));
      return out;
    })
    .SetDoc(
        "Moves tensors into one block of memory, one after another. From then on they and the last "
        "output are views of the block: a write to one changes the other, until one of them is "
        "resized.")
    .Input(0, "input", "A tensor of any type; more may follow, of the same type.")
    .Output(
        0, "output",
        "The same blobs. The last output, after them, is one-dimensional and holds the elements "
        "of all.");
OPERATOR_SCHEMA(DataCouple)
    .FillUsing(DescribePassThrough)
    .NumInputsOutputs([](int inputs, int outputs) { return outputs <= inputs; })
    .SetDoc(
        "Does nothing. Operators that read an output run after all operators that write one of the "
        "inputs.");
OPERATOR_SCHEMA(AsyncNetBarrier)
    .FillUsing(DescribePassThrough)
    .NumInputsOutputs([](int inputs, int outputs) { return outputs == inputs; })
    .Arg("cross_device", "Not read: a net waits for the inputs on all devices.")
    .SetDoc(
        "Does nothing. Operators that read an output run after all operators that write one of the "
        "inputs.");
SHOULD_NOT_DO_GRADIENT(UnsafeCoalesce);
SHOULD_NOT_DO_GRADIENT(DataCouple);
SHOULD_NOT_DO_GRADIENT(AsyncNetBarrier);

}  // namespace caffe2
