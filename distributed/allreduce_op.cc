
#include "distributed/allreduce_op.h"

namespace caffe2 {

namespace {

bool OneOutputForEachTensor(int inputs, int outputs) {
  return inputs >= 2 && outputs == inputs - 1;
}
bool TensorInPlace(int input, int output) { return input == output + 1; }

std::vector<TensorShape> ShapesOfTensors(const OperatorDef&, const std::vector<TensorShape>& in) {
  return {in.begin() + 1, in.end()};
}

OpSchema& AllreduceSchema(OpSchema& schema) {
  return schema.NumInputsOutputs(OneOutputForEachTensor)
      .EnforceInplace(TensorInPlace)
      .TensorInferenceFunction(ShapesOfTensors)
      .InputsCanCrossDevices()
      .FillUsing(CollectiveArguments)
      .Input(0, "comm_world", "shared_ptr<Communicator>: the common world.");
}

REGISTER_CPU_OPERATOR(Allreduce, AllreduceOp<CPUContext>);
REGISTER_CPU_OPERATOR_WITH_ENGINE(Allreduce, GLOO, AllreduceOp<CPUContext>);
OPERATOR_SCHEMA(Allreduce)
    .FillUsing(AllreduceSchema)
    .SetDoc(
        "Sums a tensor over all shards, in place. Further inputs are copies of the tensor on other "
        "devices of this shard: the operator adds them, too, and writes the sum to all of them. "
        "Types: float, double, float16, bfloat16, int32, int64, uint8. The result is the same to "
        "the last bit on all shards.")
    .Input(1, "X", "Tensor of any shape, the same on all shards; further inputs likewise.")
    .Output(0, "Y", "The sum, in place of X; further outputs likewise.");
NO_GRADIENT(Allreduce);

REGISTER_CPU_OPERATOR(AllreduceBucket, AllreduceBucketOp<CPUContext>);
REGISTER_CPU_OPERATOR_WITH_ENGINE(AllreduceBucket, GLOO, AllreduceBucketOp<CPUContext>);
OPERATOR_SCHEMA(AllreduceBucket)
    .FillUsing(AllreduceSchema)
    .SetDoc(
        "Sums several different tensors over all shards, in place, in one operation. It is meant "
        "for "
        "gradients, which are often too small to be sent one by one. Tensors that are adjacent in "
        "memory are not copied.")
    .Arg<float>("scale", "Factor of the sums (default: 1).")
    .Arg<bool>("flat",
               "The tensors are views of one block, in order; gaps of less than 256 bytes between "
               "them are summed, too (default: false).")
    .Arg<bool>("async",
               "On CUDA devices the operator only starts the reduction of tensors that need no "
               "copy: the outputs hold the sums after AwaitCollectives (default: false).")
    .Input(1, "X", "Tensor of any shape; all inputs have one element type.")
    .Output(0, "Y", "Its sum, in place of X; further outputs likewise.");
NO_GRADIENT(AllreduceBucket);

REGISTER_CPU_OPERATOR(AwaitCollectives, AwaitCollectivesOp<CPUContext>);
REGISTER_CPU_OPERATOR_WITH_ENGINE(AwaitCollectives, GLOO, AwaitCollectivesOp<CPUContext>);
OPERATOR_SCHEMA(AwaitCollectives)
    .FillUsing(AllreduceSchema)
    .SetDoc(
        "Waits until the operations that were started on the common world with argument async are "
        "done. The operator works in place: each output shares the tensor of its input.")
    .Input(1, "X", "Tensor of such an operation; further inputs likewise.")
    .Output(0, "Y", "The same blob, with the result; further outputs likewise.");
NO_GRADIENT(AwaitCollectives);

}  // namespace

}  // namespace caffe2
