// Sums over all shards: of one tensor, and of many as one transfer.

#include "distributed/accumulate.h"
#include "distributed/common_world_op.h"

namespace caffe2 {

namespace {

// The blobs after the common world are copies of one tensor on local devices: they are summed
// here, reduced once, and the result is given to all.
template <class Context>
class AllreduceOp final : public CollectiveOp<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using CollectiveOp<Context>::CollectiveOp;

 private:
  void RunCollective() override {
    this->CheckLocalCopies(InputSize());
    this->AddLocalCopies(InputSize());
    Tensor* sum = Output(0);
    this->World()->Allreduce(this->OperationName(), sum->raw_mutable_data(), sum->numel(),
                             sum->dtype());
    this->SpreadLocally(sum->numel());
  }
};

// Different tensors of one element type, reduced as one.
template <class Context>
class AllreduceBucketOp final : public CollectiveOp<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  AllreduceBucketOp(const OperatorDef& def, Workspace* ws)
      : CollectiveOp<Context>(def, ws),
        scale_(this->template GetSingleArgument<float>("scale", 1.f)) {}

 private:
  void RunCollective() override {
    const TypeMeta type = Input(1).dtype();
    int64_t count = 0;
    bool adjacent = true;  // views of one arena, in order: nothing to copy
    const char* end = nullptr;
    for (int i = 1; i < InputSize(); ++i) {
      const Tensor& tensor = Input(i);
      CAFFE_ENFORCE(tensor.dtype() == type, "AllreduceBucket input ", i, " (", debug_def().input(i),
                    ") is ", tensor.DebugString(), ", input 1 is ", Input(1).DebugString());
      const auto* begin = static_cast<const char*>(tensor.raw_data());
      if (tensor.numel() == 0) continue;
      adjacent = adjacent && (end == nullptr || begin == end);
      end = begin + tensor.nbytes();
      count += tensor.numel();
    }
    if (count > 0 && adjacent) {
      Reduce(const_cast<char*>(end) - count * type.itemsize(), count, type);
    } else {
      CopyThroughBuffer(count, type);
    }
  }

  void Reduce(void* data, int64_t count, TypeMeta type) {
    this->World()->Allreduce(this->OperationName(), data, count, type);
    ScaleInPlace(type, scale_, data, count);
  }

  void CopyThroughBuffer(int64_t count, TypeMeta type) {
    buffer_.Resize(count);
    char* packed = static_cast<char*>(buffer_.raw_mutable_data(type));
    for (int i = 1; i < InputSize(); ++i) {
      context_.CopyItems(type, Input(i).numel(), Input(i).raw_data(), packed);
      packed += Input(i).nbytes();
    }
    packed -= count * type.itemsize();
    Reduce(packed, count, type);
    for (int i = 0; i < OutputSize(); ++i) {
      Tensor* tensor = Output(i);
      context_.CopyItems(type, tensor->numel(), packed, tensor->raw_mutable_data());
      packed += tensor->nbytes();
    }
  }

  const float scale_;
  Tensor buffer_{Context::kDeviceType};
};

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
        "Sums a tensor over all shards, in place. Several inputs are copies of it on the devices "
        "of "
        "this shard: they are added, too, and all receive the sum. float, double, float16, "
        "bfloat16, int32, int64, uint8; the result is the same to the last bit on all shards.")
    .Input(1, "X", "Tensor of any shape, the same on all shards; further inputs likewise.")
    .Output(0, "Y", "The sum, in place of X; further outputs likewise.");
NO_GRADIENT(Allreduce);

REGISTER_CPU_OPERATOR(AllreduceBucket, AllreduceBucketOp<CPUContext>);
REGISTER_CPU_OPERATOR_WITH_ENGINE(AllreduceBucket, GLOO, AllreduceBucketOp<CPUContext>);
OPERATOR_SCHEMA(AllreduceBucket)
    .FillUsing(AllreduceSchema)
    .SetDoc(
        "Sums several different tensors over all shards, in place, in one transfer: for gradients, "
        "of which single ones would be too small to send well. Tensors that lie one after the "
        "other "
        "in memory are not copied.")
    .Arg("scale", "Factor of the sums (default: 1).")
    .Input(1, "X", "Tensor of any shape; all inputs have one element type.")
    .Output(0, "Y", "Its sum, in place of X; further outputs likewise.");
NO_GRADIENT(AllreduceBucket);

}  // namespace

}  // namespace caffe2
