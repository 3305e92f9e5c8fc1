// Broadcast, Barrier, Allgather, AllgatherRows and ReduceScatter. They throw what Communicator
// (collective.h) throws.
#pragma once

#include <algorithm>
#include <bit>
#include <numeric>

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
      this->BroadcastLocally(data->numel());
      return;
    }
    // A host tensor (such as a control scalar) in a net of a device: send a copy.
    CAFFE_ENFORCE(InputSize() == 2, "Broadcast cannot take several copies of the host tensor ",
                  debug_def().input(1), " (", data->DebugString(), ")");
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
    CAFFE_ENFORCE(!dims.empty(), "Allgather: input 1 must have at least one axis, found a scalar");
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

// Gathers the rows of several tensors, such as the indices and values of a sparse gradient. All
// tensors of a shard must have the same number of rows, but shards may differ. The shards first
// exchange their numbers of rows, then blocks of equal size, which hold the largest number.
template <class Context>
class AllgatherRowsOp final : public CollectiveOp<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using CollectiveOp<Context>::CollectiveOp;

 private:
  void RunCollective() override {
    for (int i = 1; i < InputSize(); ++i) {
      CAFFE_ENFORCE(Input(i).dim() > 0 && Input(i).size(0) == Input(1).size(0),
                    "AllgatherRows: the inputs must have the same number of rows; ",
                    debug_def().input(1), " is ", Input(1).DebugString(), ", ",
                    debug_def().input(i), " is ", Input(i).DebugString());
    }
    const std::vector<int64_t> rows = RowsOfShards(Input(1).size(0));
    for (int i = 1; i < InputSize(); ++i) GatherRows(i, rows);
  }

  std::vector<int64_t> RowsOfShards(int64_t own) {
    Communicator* world = this->World();
    Tensor counts(CPU);
    counts.Resize(world->size());
    std::fill_n(counts.template mutable_data<int64_t>(), world->size(), own);
    counts_.CopyFrom(counts);
    auto* data = counts_.template mutable_data<int64_t>();
    world->Allgather(MakeString(this->OperationName(), ", numbers of rows"), data + world->rank(),
                     data, 1, counts_.dtype());
    world->Await();
    counts.CopyFrom(counts_);
    const auto* gathered = counts.template data<int64_t>();
    return {gathered, gathered + world->size()};
  }

  // The shards compare an operation whenever its size changes. Rounding up (by an eighth at most)
  // makes changes rarer.
  static int64_t RoundedUp(int64_t rows) {
    const int64_t step = std::max<int64_t>(1, std::bit_floor(static_cast<uint64_t>(rows)) / 8);
    return (rows + step - 1) / step * step;
  }

  void GatherRows(int i, const std::vector<int64_t>& rows) {
    Communicator* world = this->World();
    const Tensor& input = Input(i);
    const TypeMeta type = input.dtype();
    const int64_t width = input.size_from_dim(1);
    const int64_t block = RoundedUp(*std::max_element(rows.begin(), rows.end())) * width;
    buffer_.Resize(world->size() * block);
    auto* blocks = static_cast<char*>(buffer_.raw_mutable_data(type));
    char* own = blocks + world->rank() * block * type.itemsize();
    context_.CopyItems(type, input.numel(), input.raw_data(), own);
    world->Allgather(MakeString(this->OperationName(), ", ", i), own, blocks, block, type);
    world->Await();
    std::vector<int64_t> dims = input.sizes();
    dims[0] = std::accumulate(rows.begin(), rows.end(), int64_t{0});
    Tensor* output = Output(i - 1);
    output->Resize(dims);
    auto* next = static_cast<char*>(output->raw_mutable_data(type));
    for (const int64_t count : rows) {
      context_.CopyItems(type, count * width, blocks, next);
      blocks += block * type.itemsize();
      next += count * width * type.itemsize();
    }
  }

  Tensor counts_{context_.device()}, buffer_{context_.device()};
};

// As in Caffe2, inputs 1 to n - 2 are local copies of one tensor; the last input is recv_counts.
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
    CAFFE_ENFORCE(total == data->numel(), "ReduceScatter: ", debug_def().input(InputSize() - 1),
                  " must add up to the ", data->numel(), " elements of ", debug_def().input(1),
                  ", but adds up to ", total);
    this->CheckLocalCopies(InputSize() - 1);
    this->AddLocalCopies(InputSize() - 1);
    Communicator* world = this->World();
    world->ReduceScatter(this->OperationName(), data->raw_mutable_data(), parts, data->dtype());
    world->Await();
    this->BroadcastLocally(parts[world->rank()]);
  }
};

}  // namespace caffe2
