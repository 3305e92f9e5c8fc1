// Collectives among the devices of one process, with Caffe2's names. Each input is the tensor of
// one member and lies on that member's device.
#pragma once

#include <type_traits>
#include <vector>

#include "caffe2/core/operator.h"
#include "caffe2/cuda/nccl.h"
#include "distributed/local_copies.h"

namespace caffe2 {

// Uses NCCL for CUDA tensors on different devices. Without NCCL, and for other tensors, it copies
// and adds: it forms the sum on the operator's device (the device of input 0), in the order of the
// inputs.
template <class Context>
class LocalCollectiveOp : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(LocalCollectiveOp);

 protected:
  // The output of one member.
  Tensor* Member(int i) { return BlobGetMutableTensor(this->OutputBlob(i), Input(i).device()); }
  // If NCCL connects the members' devices, calls f(group) and returns true. Otherwise, and if an
  // input is empty, returns false.
  template <typename F>
  bool ThroughNccl(const F& f) {
    if constexpr (std::is_same_v<Context, CUDAContext>) {
      std::vector<int> devices;
      for (int i = 0; i < InputSize(); ++i) {
        if (Input(i).GetDeviceType() != CUDA || Input(i).numel() == 0) return false;
        devices.push_back(Input(i).device().id);
      }
      cuda::LocalNcclGroup* group = cuda::LocalNcclGroup::Of(devices);
      if (group == nullptr) return false;
      f(group);
      return true;
    }
    return false;
  }
  std::vector<const void*> InputData() const {
    std::vector<const void*> data;
    for (int i = 0; i < InputSize(); ++i) data.push_back(Input(i).raw_data());
    return data;
  }
  // Gives the outputs the shape `dims`, each on its member's device, and the type of input 0 or
  // `type`; returns their data.
  std::vector<void*> OutputData(const std::vector<int64_t>& dims) {
    return OutputData(dims, Input(0).dtype());
  }
  std::vector<void*> OutputData(const std::vector<int64_t>& dims, TypeMeta type) {
    std::vector<void*> data;
    for (int i = 0; i < OutputSize(); ++i) {
      Member(i)->Resize(dims);
      data.push_back(Member(i)->raw_mutable_data(type));
    }
    return data;
  }
  // True if an output is also an input of any member.
  bool HasAliases() const {
    for (int i = 0; i < InputSize(); ++i) {
      for (int j = 0; j < OutputSize(); ++j) {
        if (this->IsInputOutputAlias(i, j)) return true;
      }
    }
    return false;
  }
  // Throws EnforceNotMet unless all inputs have the same type and shape.
  void CheckMembers() const {
    for (int i = 1; i < InputSize(); ++i) {
      CAFFE_ENFORCE(Input(i).dtype() == Input(0).dtype() && Input(i).sizes() == Input(0).sizes(),
                    this->type(), ": input ", i, " (", debug_def().input(i), ") is ",
                    Input(i).DebugString(), ", but input 0 is ", Input(0).DebugString());
    }
  }
  // The sum of all inputs, in a tensor that this operator owns.
  Tensor* Add() {
    CheckMembers();
    sum_.ResizeLike(Input(0));
    sum_.raw_mutable_data(Input(0).dtype());
    CopyFirstElements(Input(0), sum_.numel(), &sum_, &context_);
    for (int i = 1; i < InputSize(); ++i) AddTensor(Input(i), &sum_, &context_);
    return &sum_;
  }
  void Give(const Tensor& source, Tensor* member) {
    member->ResizeLike(source);
    CopyFirstElements(source, source.numel(), member, &context_);
  }
  int Root() const {
    const int root = this->template GetSingleArgument<int>("root", 0);
    CAFFE_ENFORCE(root >= 0 && root < InputSize(), this->type(), ": root ", root,
                  " is not an index of its ", InputSize(), " inputs");
    return root;
  }

 private:
  Tensor sum_{context_.device()};
};

template <class Context>
class NcclAllreduceOp final : public LocalCollectiveOp<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using LocalCollectiveOp<Context>::LocalCollectiveOp;
  bool RunOnDevice() override {
    this->CheckMembers();
    const bool done = this->ThroughNccl([this](auto* group) {
      group->Allreduce(this->InputData(), this->OutputData(Input(0).sizes()), Input(0).numel(),
                       Input(0).dtype());
    });
    if (done) return true;
    const Tensor* sum = this->Add();
    for (int i = 0; i < OutputSize(); ++i) this->Give(*sum, this->Member(i));
    return true;
  }
};

template <class Context>
class NcclReduceOp final : public LocalCollectiveOp<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using LocalCollectiveOp<Context>::LocalCollectiveOp;
  bool RunOnDevice() override {
    this->CheckMembers();
    const int root = this->Root();
    const auto output = [this, root] {
      return BlobGetMutableTensor(this->OutputBlob(0), Input(root).device());
    };
    // If the output is the input of another member, the sum would lie on the wrong device.
    bool misplaced = false;
    for (int i = 0; i < InputSize(); ++i) {
      misplaced = misplaced || (i != root && this->IsInputOutputAlias(i, 0));
    }
    const bool done = !misplaced && this->ThroughNccl([&](auto* group) {
      Tensor* sum = output();
      sum->ResizeLike(Input(root));
      group->Reduce(this->InputData(), sum->raw_mutable_data(Input(root).dtype()),
                    Input(root).numel(), Input(root).dtype(), root);
    });
    if (done) return true;
    const Tensor* sum = this->Add();
    this->Give(*sum, output());
    return true;
  }
};

template <class Context>
class NcclBroadcastOp final : public LocalCollectiveOp<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using LocalCollectiveOp<Context>::LocalCollectiveOp;
  bool RunOnDevice() override {
    const int root = this->Root();
    const bool done = this->ThroughNccl([this, root](auto* group) {
      group->Broadcast(Input(root).raw_data(),
                       this->OutputData(Input(root).sizes(), Input(root).dtype()),
                       Input(root).nbytes(), root);
    });
    if (done) return true;
    for (int i = 0; i < OutputSize(); ++i) {
      if (!this->IsInputOutputAlias(root, i)) this->Give(Input(root), this->Member(i));
    }
    return true;
  }
};

template <class Context>
class NcclAllGatherOp final : public LocalCollectiveOp<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using LocalCollectiveOp<Context>::LocalCollectiveOp;
  bool RunOnDevice() override {
    this->CheckMembers();
    const Tensor& first = Input(0);
    std::vector<int64_t> dims = first.sizes();
    CAFFE_ENFORCE(!dims.empty(), "NCCLAllGather: input 0 has no dimension to concatenate along");
    dims[0] *= InputSize();
    CAFFE_ENFORCE(!this->HasAliases(), "NCCLAllGather does not work in place");
    const bool done = this->ThroughNccl([&](auto* group) {
      group->Allgather(this->InputData(), this->OutputData(dims), first.nbytes());
    });
    if (done) return true;
    for (int i = 0; i < OutputSize(); ++i) {
      Tensor* all = this->Member(i);
      all->Resize(dims);
      all->raw_mutable_data(first.dtype());
      for (int j = 0; j < InputSize() && first.numel() > 0; ++j) {
        Tensor place = all->View(j * first.numel(), first.sizes());
        CopyFirstElements(Input(j), first.numel(), &place, &context_);
      }
    }
    return true;
  }
};

template <class Context>
class NcclReduceScatterOp final : public LocalCollectiveOp<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using LocalCollectiveOp<Context>::LocalCollectiveOp;
  bool RunOnDevice() override {
    this->CheckMembers();
    std::vector<int64_t> dims = Input(0).sizes();
    CAFFE_ENFORCE(!dims.empty() && dims[0] % InputSize() == 0, "NCCLReduceScatter: shape ",
                  ShapeString(dims), " cannot be split into ", InputSize(), " parts");
    dims[0] /= InputSize();
    const int64_t count = Input(0).numel() / InputSize();
    const bool done = !this->HasAliases() && this->ThroughNccl([&](auto* group) {
      group->ReduceScatter(this->InputData(), this->OutputData(dims), count, Input(0).dtype());
    });
    if (done) return true;
    const Tensor* sum = this->Add();
    // Outputs may be inputs, so nothing is written before the sum is complete.
    for (int i = 0; i < OutputSize(); ++i) {
      if (count > 0) this->Give(sum->View(i * count, dims), this->Member(i));
    }
    return true;
  }
};

}  // namespace caffe2
