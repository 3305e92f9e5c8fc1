
#include "distributed/collective_op.h"

namespace caffe2 {

namespace {

std::vector<TensorShape> AllgatherShapes(const OperatorDef& def,
                                         const std::vector<TensorShape>& in) {
  // The number of shards is known only when the operator runs.
  std::vector<TensorShape> out(def.output_size());
  for (size_t i = 0; i < out.size(); ++i) {
    out[i].set_data_type(in[i + 1].data_type());
    out[i].set_unknown_shape(true);
  }
  return out;
}

constexpr char kWorldText[] = "shared_ptr<Communicator>: the common world.";

REGISTER_CPU_OPERATOR(Broadcast, BroadcastOp<CPUContext>);
REGISTER_CPU_OPERATOR_WITH_ENGINE(Broadcast, GLOO, BroadcastOp<CPUContext>);
OPERATOR_SCHEMA(Broadcast)
    .NumInputsOutputs([](int in, int out) { return in >= 2 && out == in - 1; })
    .EnforceInplace([](int in, int out) { return in == out + 1; })
    .InputsCanCrossDevices()
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>(in.begin() + 1, in.end());
    })
    .SetDoc("Copies the tensor of one shard to all shards and all local copies, in place.")
    .Arg<int>("root", "The shard whose tensor is sent (default: 0).")
    .FillUsing(CollectiveArguments)
    .Input(0, "comm_world", kWorldText)
    .Input(
        1, "X",
        "Tensor with the same size and type on all shards; further inputs are local copies of it.")
    .Output(0, "Y", "The root's values, in place of X; further outputs likewise.");
NO_GRADIENT(Broadcast);

REGISTER_CPU_OPERATOR(Barrier, BarrierOp<CPUContext>);
REGISTER_CPU_OPERATOR_WITH_ENGINE(Barrier, GLOO, BarrierOp<CPUContext>);
OPERATOR_SCHEMA(Barrier)
    .NumInputs(1)
    .NumOutputs(0)
    .SetDoc("Waits until all shards have run the operator.")
    .FillUsing(CollectiveArguments)
    .Input(0, "comm_world", kWorldText);
NO_GRADIENT(Barrier);

REGISTER_CPU_OPERATOR(Allgather, AllgatherOp<CPUContext>);
REGISTER_CPU_OPERATOR_WITH_ENGINE(Allgather, GLOO, AllgatherOp<CPUContext>);
OPERATOR_SCHEMA(Allgather)
    .NumInputs(2, OpSchema::kUnlimited)
    .NumOutputs(1)
    .InputsCanCrossDevices()
    .TensorInferenceFunction(AllgatherShapes)
    .SetDoc(
        "Concatenates the tensors of all shards, in the order of the shards and then of the "
        "inputs.")
    .FillUsing(CollectiveArguments)
    .Input(0, "comm_world", kWorldText)
    .Input(1, "X", "Tensor (n, ...), the same shape on all shards; further inputs likewise.")
    .Output(0, "Y", "(shards * inputs * n, ...).");
NO_GRADIENT(Allgather);

REGISTER_CPU_OPERATOR(AllgatherRows, AllgatherRowsOp<CPUContext>);
REGISTER_CPU_OPERATOR_WITH_ENGINE(AllgatherRows, GLOO, AllgatherRowsOp<CPUContext>);
OPERATOR_SCHEMA(AllgatherRows)
    .NumInputsOutputs([](int in, int out) { return in >= 2 && out == in - 1; })
    .TensorInferenceFunction(AllgatherShapes)
    .SetDoc(
        "Concatenates the rows of the tensors of all shards, in the order of the shards. The "
        "number "
        "of rows may differ between shards, and may be 0; all tensors of one shard have the same "
        "number.")
    .FillUsing(CollectiveArguments)
    .Input(0, "comm_world", kWorldText)
    .Input(1, "X",
           "Tensor (n, ...). n may differ between shards, the other dimensions must not; further "
           "inputs likewise.")
    .Output(0, "Y", "(sum of n over the shards, ...); further outputs likewise.");
NO_GRADIENT(AllgatherRows);

REGISTER_CPU_OPERATOR(ReduceScatter, ReduceScatterOp<CPUContext>);
REGISTER_CPU_OPERATOR_WITH_ENGINE(ReduceScatter, GLOO, ReduceScatterOp<CPUContext>);
OPERATOR_SCHEMA(ReduceScatter)
    .NumInputsOutputs([](int in, int out) { return in >= 3 && out == in - 2; })
    .EnforceInplace([](int in, int out) { return in == out + 1; })
    .InputsCanCrossDevices()
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>(in.begin() + 1, in.end() - 1);
    })
    .SetDoc(
        "Sums a tensor over all shards and local copies, and gives each shard its part of the sum, "
        "in place. The first recv_counts[rank] elements of the tensor hold the part; the rest is "
        "undefined.")
    .FillUsing(CollectiveArguments)
    .Input(0, "comm_world", kWorldText)
    .Input(1, "X", "Tensor of any shape; the inputs between it and the last are local copies.")
    .Input(2, "recv_counts",
           "The last input: int32, the number of elements for each shard; their sum is X's size.")
    .Output(0, "Y", "X, beginning with this shard's part; further outputs likewise.");
NO_GRADIENT(ReduceScatter);

}  // namespace

}  // namespace caffe2
