// Allreduce, AllreduceBucket and AwaitCollectives: sums of tensors over all shards. They throw what
// Communicator (collective.h) throws.
#pragma once

#include "distributed/common_world_op.h"

namespace caffe2 {

// Inputs 1, 2, ... are copies of one tensor on local devices. The operator adds them, reduces the
// sum once, and writes the result to all of them.
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
    this->World()->Await();
    this->BroadcastLocally(sum->numel());
  }
};

// In a flat block, neighbours are less than this many bytes apart (for alignment).
constexpr int64_t kMaxGap = 256;

// Reduces different tensors of one element type in one operation.
template <class Context>
class AllreduceBucketOp : public CollectiveOp<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  AllreduceBucketOp(const OperatorDef& def, Workspace* ws)
      : CollectiveOp<Context>(def, ws),
        scale_(this->template GetSingleArgument<float>("scale", 1.f)),
        flat_(this->template GetSingleArgument<bool>("flat", false)),
        async_(this->template GetSingleArgument<bool>("async", false)) {}

 private:
  void RunCollective() override {
    const TypeMeta type = Input(1).dtype();
    int64_t count = 0;
    bool adjacent = true;  // consecutive views of one block: nothing to copy
    const char *begin = nullptr, *end = nullptr;
    for (int i = 1; i < InputSize(); ++i) {
      const Tensor& tensor = Input(i);
      CAFFE_ENFORCE(tensor.dtype() == type, "AllreduceBucket input ", i, " (", debug_def().input(i),
                    ") is ", tensor.DebugString(), ", input 1 is ", Input(1).DebugString());
      if (tensor.numel() == 0) continue;
      const auto* data = static_cast<const char*>(tensor.raw_data());
      if (begin == nullptr) begin = end = data;
      adjacent = adjacent && (data == end || (flat_ && data > end && data < end + kMaxGap));
      end = data + tensor.nbytes();
      count += tensor.numel();
    }
    if (!adjacent || count == 0) {
      CopyThroughBuffer(count, type);
      return;
    }
    Reduce(const_cast<char*>(begin), (end - begin) / static_cast<int64_t>(type.itemsize()), type,
           !async_ || scale_ != 1.f);
  }

  void Reduce(void* data, int64_t count, TypeMeta type, bool wait) {
    this->World()->Allreduce(this->OperationName(), data, count, type);
    if (wait) this->World()->Await();
    ScaleInPlace(type, scale_, data, count, &context_);
  }

  void CopyThroughBuffer(int64_t count, TypeMeta type) {
    buffer_.Resize(count);
    char* packed = static_cast<char*>(buffer_.raw_mutable_data(type));
    for (int i = 1; i < InputSize(); ++i) {
      context_.CopyItems(type, Input(i).numel(), Input(i).raw_data(), packed);
      packed += Input(i).nbytes();
    }
    packed -= count * type.itemsize();
    Reduce(packed, count, type, true);
    for (int i = 0; i < OutputSize(); ++i) {
      Tensor* tensor = Output(i);
      context_.CopyItems(type, tensor->numel(), packed, tensor->raw_mutable_data());
      packed += tensor->nbytes();
    }
  }

  const float scale_;
  const bool flat_, async_;
  Tensor buffer_{context_.device()};
};

// Waits for the asynchronous operations of the common world.
template <class Context>
class AwaitCollectivesOp : public CollectiveOp<Context> {
 public:
  using CollectiveOp<Context>::CollectiveOp;

 private:
  void RunCollective() override { this->World()->Await(); }
};

}  // namespace caffe2
