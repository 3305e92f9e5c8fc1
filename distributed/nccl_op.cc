#include "distributed/nccl_op.h"

#include "caffe2/core/operator_schema.h"

namespace caffe2 {
namespace {

std::vector<TensorShape> SameShapes(const OperatorDef& def, const std::vector<TensorShape>& in) {
  return std::vector<TensorShape>(def.output_size(), in[0]);
}

// The first dimension times the number of inputs, or divided by it.
std::vector<TensorShape> FirstDimension(const OperatorDef& def, const std::vector<TensorShape>& in,
                                        bool gather) {
  TensorShape shape = in[0];
  if (!shape.unknown_shape() && shape.dims_size() > 0) {
    const int64_t members = def.input_size();
    shape.set_dims(0, gather ? shape.dims(0) * members : shape.dims(0) / members);
  }
  return std::vector<TensorShape>(def.output_size(), shape);
}

OpSchema& Members(OpSchema& schema) {
  return schema.NumInputs(1, OpSchema::kUnlimited)
      .InputsCanCrossDevices()
      .Input(0, "X",
             "Tensor of the first member, on the operator's device; further inputs likewise, each "
             "on its member's device. Types: float, double, float16, bfloat16, int32, int64, "
             "uint8.");
}
OpSchema& OneOutputEach(OpSchema& schema) {
  return schema.FillUsing(Members)
      .NumInputsOutputs([](int in, int out) { return in >= 1 && in == out; })
      .AllowInplace([](int in, int out) { return in == out; });
}

REGISTER_CPU_OPERATOR(NCCLAllreduce, NcclAllreduceOp<CPUContext>);
OPERATOR_SCHEMA(NCCLAllreduce)
    .FillUsing(OneOutputEach)
    .TensorInferenceFunction(SameShapes)
    .SetDoc("Sums the tensors of several devices of this process; every device receives the sum.")
    .Output(0, "Y", "The sum, on the first member's device; further outputs likewise.");
NO_GRADIENT(NCCLAllreduce);

REGISTER_CPU_OPERATOR(NCCLBroadcast, NcclBroadcastOp<CPUContext>);
OPERATOR_SCHEMA(NCCLBroadcast)
    .FillUsing(OneOutputEach)
    .TensorInferenceFunction(SameShapes)
    .SetDoc("Copies the tensor of one device of this process to the others.")
    .Arg<int>("root", "The member whose tensor is copied (default: 0).")
    .Output(0, "Y", "The root's values, on the first member's device; further outputs likewise.");
NO_GRADIENT(NCCLBroadcast);

REGISTER_CPU_OPERATOR(NCCLReduce, NcclReduceOp<CPUContext>);
OPERATOR_SCHEMA(NCCLReduce)
    .FillUsing(Members)
    .NumOutputs(1)
    .AllowInplace([](int, int) { return true; })
    .TensorInferenceFunction(SameShapes)
    .SetDoc("Sums the tensors of several devices of this process on one of them.")
    .Arg<int>("root", "The member that receives the sum (default: 0).")
    .Output(0, "Y", "The sum, on the root's device.");
NO_GRADIENT(NCCLReduce);

REGISTER_CPU_OPERATOR(NCCLAllGather, NcclAllGatherOp<CPUContext>);
OPERATOR_SCHEMA(NCCLAllGather)
    .FillUsing(Members)
    .NumInputsOutputs([](int in, int out) { return in >= 1 && in == out; })
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      return FirstDimension(def, in, true);
    })
    .SetDoc(
        "Concatenates the tensors of several devices of this process, (n, ...) each, on all of "
        "them.")
    .Output(0, "Y", "(members * n, ...), on the first member's device; further outputs likewise.");
NO_GRADIENT(NCCLAllGather);

REGISTER_CPU_OPERATOR(NCCLReduceScatter, NcclReduceScatterOp<CPUContext>);
OPERATOR_SCHEMA(NCCLReduceScatter)
    .FillUsing(OneOutputEach)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      return FirstDimension(def, in, false);
    })
    .SetDoc(
        "Sums the tensors of several devices of this process, (members * n, ...) each, and gives "
        "each device its part.")
    .Output(0, "Y", "(n, ...): rows 0 to n - 1 of the sum; output i holds part i.");
NO_GRADIENT(NCCLReduceScatter);

}  // namespace
}  // namespace caffe2
