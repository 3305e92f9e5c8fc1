// Collectives among the devices of one process, by Caffe2's names of them: every input is one
// member's tensor, on that member's device.
#pragma once

#include "caffe2/core/operator.h"
#include "distributed/local_copies.h"

namespace caffe2 {

// The sum is formed on the operator's device, where input 0 lies, in the order of the inputs.
template <class Context>
class LocalCollectiveOp : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(LocalCollectiveOp);

 protected:
  // The output of one member.
  Tensor* Member(int i) { return BlobGetMutableTensor(this->OutputBlob(i), Input(i).device()); }
  // Throws unless all inputs look the same.
  void CheckMembers() const {
    for (int i = 1; i < InputSize(); ++i) {
      CAFFE_ENFORCE(Input(i).dtype() == Input(0).dtype() && Input(i).sizes() == Input(0).sizes(),
                    this->type(), " input ", i, " (", debug_def().input(i), ") is ",
                    Input(i).DebugString(), ", input 0 is ", Input(0).DebugString());
    }
  }
  // The sum of all inputs, in memory of this operator.
  Tensor* Add() {
    CheckMembers();
    sum_.ResizeLike(Input(0));
    sum_.raw_mutable_data(Input(0).dtype());
    GiveCopy(Input(0), sum_.numel(), &sum_, &context_);
    for (int i = 1; i < InputSize(); ++i) AddCopy(Input(i), &sum_, &context_);
    return &sum_;
  }
  void Give(const Tensor& source, Tensor* member) {
    member->ResizeLike(source);
    GiveCopy(source, source.numel(), member, &context_);
  }
  int Root() const {
    const int root = this->template GetSingleArgument<int>("root", 0);
    CAFFE_ENFORCE(root >= 0 && root < InputSize(), this->type(), ": root ", root, " of ",
                  InputSize(), " inputs");
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
    const Tensor* sum = this->Add();
    this->Give(*sum, BlobGetMutableTensor(this->OutputBlob(0), Input(this->Root()).device()));
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
    CAFFE_ENFORCE(!dims.empty(), "NCCLAllGather needs a dimension to join along");
    dims[0] *= InputSize();
    for (int i = 0; i < OutputSize(); ++i) {
      for (int j = 0; j < InputSize(); ++j) {
        CAFFE_ENFORCE(!this->IsInputOutputAlias(j, i), "NCCLAllGather does not work in place");
      }
      Tensor* all = this->Member(i);
      all->Resize(dims);
      all->raw_mutable_data(first.dtype());
      for (int j = 0; j < InputSize() && first.numel() > 0; ++j) {
        Tensor place = all->View(j * first.numel(), first.sizes());
        GiveCopy(Input(j), first.numel(), &place, &context_);
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
    const Tensor* sum = this->Add();
    std::vector<int64_t> dims = sum->sizes();
    CAFFE_ENFORCE(!dims.empty() && dims[0] % InputSize() == 0, "NCCLReduceScatter: shape ",
                  ShapeString(dims), " cannot be cut into ", InputSize(), " parts");
    dims[0] /= InputSize();
    const int64_t count = sum->numel() / InputSize();
    // Outputs may be inputs: nothing is written before the sum is there.
    for (int i = 0; i < OutputSize(); ++i) {
      if (count > 0) this->Give(sum->View(i * count, dims), this->Member(i));
    }
    return true;
  }
};

}  // namespace caffe2
