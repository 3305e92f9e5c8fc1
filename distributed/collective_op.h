// Broadcast, Barrier, Allgather and ReduceScatter.
#pragma once

#include "caffe2/core/device_backend.h"
#include "distributed/common_world_op.h"

namespace caffe2 {

template <class Context>
class BroadcastOp final : public CollectiveOp<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using CollectiveOp<Context>::CollectiveOp;

 private:
  void RunCollective() override {
    Tensor* data =
        BlobGetMutableTensor(this->OutputBlob(0), this->template Input<Tensor>(1).device());
    if (data->GetDeviceType() == Context::kDeviceType) {
      this->CheckLocalCopies(InputSize());
      Send(data);
      this->SpreadLocally(data->numel());
      return;
    }
    // What steers the operators of a device lies on the host.
    CAFFE_ENFORCE_EQ(InputSize(), 2, "Broadcast has several copies of ", debug_def().input(1),
                     ", which is ", data->DebugString());
    Tensor copy(context_.device());
    copy.CopyFrom(*data);
    Send(&copy);
    data->CopyFrom(copy);
  }

  void Send(Tensor* data) {
    this->World()->Broadcast(this->OperationName(), data->raw_mutable_data(), data->numel(),
                             data->dtype(), this->template GetSingleArgument<int>("root", 0));
    this->World()->Await();
  }
};

template <class Context>
class BarrierOp final : public CollectiveOp<Context> {
 public:
  using CollectiveOp<Context>::CollectiveOp;

 private:
  void RunCollective() override { this->World()->Barrier(this->OperationName()); }
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
    world->Await();
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
    const Tensor& input = this->template Input<Tensor>(InputSize() - 1);
    Tensor copy(CPU);
    const Tensor& counts_input = OnHost(input, &copy);
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
    world->Await();
    this->SpreadLocally(parts[world->rank()]);
  }
};

}  // namespace caffe2
