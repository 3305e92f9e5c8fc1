// Broadcast, Barrier, Allgather and ReduceScatter.

#include "distributed/common_world_op.h"

namespace caffe2 {

namespace {

template <class Context>
class BroadcastOp final : public CollectiveOp<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using CollectiveOp<Context>::CollectiveOp;

 private:
  void RunCollective() override {
    this->CheckLocalCopies(InputSize());
    Tensor* data = Output(0);
    this->World()->Broadcast(this->OperationName(), data->raw_mutable_data(), data->numel(),
                             data->dtype(), this->template GetSingleArgument<int>("root", 0));
    this->SpreadLocally(data->numel());
  }
};

class BarrierOp final : public CollectiveOp<CPUContext> {
 public:
  using CollectiveOp::CollectiveOp;

 private:
  void RunCollective() override { World()->Barrier(OperationName()); }
};

template <class Context>
class AllgatherOp final : public CollectiveOp<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using CollectiveOp<Context>::CollectiveOp;

 private:
  void RunCollective() override {
    const Tensor& first = Input(1);
    const TypeMeta type = first.dtype();
    Communicator* world = this->World();
    std::vector<int64_t> dims = first.sizes();
    this->CheckLocalCopies(InputSize());
    CAFFE_ENFORCE(!dims.empty(), "Allgather needs a dimension to join along");
    dims[0] *= (InputSize() - 1) * world->size();
    Tensor* gathered = Output(0);
    CAFFE_ENFORCE(!this->IsInputOutputAlias(1, 0), "Allgather does not work in place");
    gathered->Resize(dims);
    auto* own = static_cast<char*>(gathered->raw_mutable_data(type));
    const int64_t count = (InputSize() - 1) * first.numel();
    own += world->rank() * count * type.itemsize();
    for (int i = 1; i < InputSize(); ++i) {
      context_.CopyItems(type, first.numel(), Input(i).raw_data(), own + (i - 1) * first.nbytes());
    }
    world->Allgather(this->OperationName(), own, gathered->raw_mutable_data(type), count, type);
  }
};

// As Caffe2's: the tensors between the common world and the counts are local copies.
template <class Context>
class ReduceScatterOp final : public CollectiveOp<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using CollectiveOp<Context>::CollectiveOp;

 private:
  void RunCollective() override {
    const Tensor& counts_input = Input(InputSize() - 1);
    const auto* counts = counts_input.template data<int32_t>();
    const std::vector<int64_t> parts(counts, counts + counts_input.numel());
    Tensor* data = Output(0);
    int64_t total = 0;
    for (const int64_t part : parts) total += part;
    CAFFE_ENFORCE_EQ(total, data->numel(), "ReduceScatter: sum of the counts and size of ",
                     debug_def().input(1));
    this->CheckLocalCopies(InputSize() - 1);
    this->AddLocalCopies(InputSize() - 1);
    Communicator* world = this->World();
    world->ReduceScatter(this->OperationName(), data->raw_mutable_data(), parts, data->dtype());
    this->SpreadLocally(parts[world->rank()]);
  }
};

std::vector<TensorShape> AllgatherShape(const OperatorDef&, const std::vector<TensorShape>& in) {
  // The number of shards is known only when it runs.
  std::vector<TensorShape> out(1);
  out[0].set_data_type(in[1].data_type());
  out[0].set_unknown_shape(true);
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
    .SetDoc("Gives the tensor of one shard to all shards and all local copies, in place.")
    .Arg("root", "The shard whose tensor is sent (default: 0).")
    .FillUsing(CollectiveArguments)
    .Input(0, "comm_world", kWorldText)
    .Input(1, "X", "Tensor, of the same size and type on all shards; further inputs likewise.")
    .Output(0, "Y", "The root's values, in place of X; further outputs likewise.");
NO_GRADIENT(Broadcast);

REGISTER_CPU_OPERATOR(Barrier, BarrierOp);
REGISTER_CPU_OPERATOR_WITH_ENGINE(Barrier, GLOO, BarrierOp);
OPERATOR_SCHEMA(Barrier)
    .NumInputs(1)
    .NumOutputs(0)
    .SetDoc("Waits until all shards have come here.")
    .FillUsing(CollectiveArguments)
    .Input(0, "comm_world", kWorldText);
NO_GRADIENT(Barrier);

REGISTER_CPU_OPERATOR(Allgather, AllgatherOp<CPUContext>);
REGISTER_CPU_OPERATOR_WITH_ENGINE(Allgather, GLOO, AllgatherOp<CPUContext>);
OPERATOR_SCHEMA(Allgather)
    .NumInputs(2, INT_MAX)
    .NumOutputs(1)
    .InputsCanCrossDevices()
    .TensorInferenceFunction(AllgatherShape)
    .SetDoc("Joins the tensors of all shards, in the order of the shards and then of the inputs.")
    .FillUsing(CollectiveArguments)
    .Input(0, "comm_world", kWorldText)
    .Input(1, "X", "Tensor (n, ...), the same shape everywhere; further inputs likewise.")
    .Output(0, "Y", "(shards * inputs * n, ...).");
NO_GRADIENT(Allgather);

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
        "Sums a tensor over all shards and local copies, and gives each shard its part: the first "
        "recv_counts[rank] elements of the tensor hold it, the rest is undefined.")
    .FillUsing(CollectiveArguments)
    .Input(0, "comm_world", kWorldText)
    .Input(1, "X", "Tensor of any shape; the inputs after it but for the last are local copies.")
    .Input(2, "recv_counts",
           "The last input: int32, elements for each shard; their sum is X's size.")
    .Output(0, "Y", "X with this shard's part in front; further outputs likewise.");
NO_GRADIENT(ReduceScatter);

}  // namespace

}  // namespace caffe2
