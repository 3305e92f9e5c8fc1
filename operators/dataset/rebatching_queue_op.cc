// Queues that are written and read in batches of different sizes: CreateRebatchingQueue,
// EnqueueRebatchingQueue, DequeueRebatchingQueue, CloseRebatchingQueue.
#include <memory>

#include "operators/common/cpu_only.h"
#include "operators/dataset/blobs_queue_op.h"
#include "operators/dataset/rebatching_queue.h"

namespace caffe2 {
namespace {

class CreateRebatchingQueueOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    *Output<std::shared_ptr<RebatchingQueue>>(0) = std::make_shared<RebatchingQueue>(
        GetSingleArgument<int64_t>("capacity", 1), GetSingleArgument<int64_t>("num_blobs", 1));
    return true;
  }
};

class EnqueueRebatchingQueueOp final : public Operator<CPUContext> {
 public:
  EnqueueRebatchingQueueOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        batch_(GetSingleArgument<bool>("enqueue_batch", false)),
        stop_(StopWith(ws)) {}

  bool RunOnDevice() override {
    std::vector<const Tensor*> tensors;
    for (int i = 1; i < InputSize(); ++i) tensors.push_back(&Input(i));
    return QueueOf<RebatchingQueue>(*this)->Enqueue(tensors, batch_, stop_);
  }

 private:
  bool batch_;
  WhileWaiting stop_;
};

class DequeueRebatchingQueueOp final : public Operator<CPUContext> {
 public:
  DequeueRebatchingQueueOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        num_elements_(GetSingleArgument<int64_t>("num_elements", 1)),
        stop_(StopWith(ws)) {}

  bool RunOnDevice() override {
    std::vector<Tensor*> outputs;
    for (int i = 0; i < OutputSize(); ++i) outputs.push_back(Output(i));
    return QueueOf<RebatchingQueue>(*this)->Dequeue(num_elements_, outputs, stop_);
  }

 private:
  int64_t num_elements_;
  WhileWaiting stop_;
};

class CloseRebatchingQueueOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    QueueOf<RebatchingQueue>(*this)->Close();
    return true;
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(CreateRebatchingQueue, CreateRebatchingQueueOp);
REGISTER_CPU_OPERATOR(EnqueueRebatchingQueue, EnqueueRebatchingQueueOp);
REGISTER_CPU_OPERATOR(DequeueRebatchingQueue, DequeueRebatchingQueueOp);
REGISTER_CPU_OPERATOR(CloseRebatchingQueue, CloseRebatchingQueueOp);

OPERATOR_SCHEMA(CreateRebatchingQueue)
    .NumInputs(0)
    .NumOutputs(1)
    .NonTensorOutputs({0})
    .SetDoc("Makes a bounded first-in-first-out queue whose elements are stacked when read.")
    .Arg<int>("capacity", "Elements that fit; at least 1. Default 1.")
    .Arg<int>("num_blobs", "Tensors of an element; at least 1. Default 1.")
    .Output(0, "queue", "The queue, a blob that is not a tensor.")
    .CpuOnly(cpu_only::kQueues);
OPERATOR_SCHEMA(EnqueueRebatchingQueue)
    .NumInputs([](int inputs) { return inputs >= 2; })
    .NumOutputs(0)
    .SetDoc("Adds copies of tensors to a queue; waits while it is full. Fails if it is closed.")
    .Arg<bool>("enqueue_batch",
               "Each row of the tensors (their first dimension, in which they must agree) is an "
               "element of its own. Default 0: the tensors are one element.")
    .Input(0, "queue", "A queue made by CreateRebatchingQueue.")
    .Input(1, "tensors", "As many tensors as the queue has.")
    .CpuOnly(cpu_only::kQueues);
OPERATOR_SCHEMA(DequeueRebatchingQueue)
    .NumInputs(1)
    .NumOutputs([](int outputs) { return outputs >= 1; })
    .SetDoc(R"DOC(
Takes elements out of a queue and stacks them along a new first dimension; waits for them. A closed
queue may give fewer than asked for; the operator fails if it is empty.
)DOC")
    .Arg<int>("num_elements", "Elements to take; at least 1. Default 1.")
    .Input(0, "queue", "A queue made by CreateRebatchingQueue.")
    .Output(0, "tensors", "As many tensors as the queue has, each [elements, shape of one].")
    .CpuOnly(cpu_only::kQueues);
OPERATOR_SCHEMA(CloseRebatchingQueue)
    .NumInputs(1)
    .NumOutputs(0)
    .SetDoc(
        "Ends writing to a queue and wakes all waiting operators. Its elements can still be read.")
    .Input(0, "queue", "A queue made by CreateRebatchingQueue.")
    .CpuOnly(cpu_only::kQueues);

NO_GRADIENT(CreateRebatchingQueue);
NO_GRADIENT(EnqueueRebatchingQueue);
NO_GRADIENT(DequeueRebatchingQueue);
NO_GRADIENT(CloseRebatchingQueue);

}  // namespace caffe2
