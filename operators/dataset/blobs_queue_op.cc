// Queues of blobs: CreateBlobsQueue, EnqueueBlobs, DequeueBlobs, SafeEnqueueBlobs,
// SafeDequeueBlobs, CloseBlobsQueue, WeightedSampleDequeueBlobs.
#include "operators/dataset/blobs_queue_op.h"

#include "operators/common/cpu_only.h"

namespace caffe2 {
WhileWaiting StopWith(const Workspace* ws) {
  return [ws] {
    if (ws->StopRequested()) throw Error("stopped on request while waiting for data");
  };
}

REGISTER_CPU_OPERATOR(CreateBlobsQueue, CreateBlobsQueueOp<CPUContext>);
REGISTER_CPU_OPERATOR(EnqueueBlobs, EnqueueBlobsOp<CPUContext>);
REGISTER_CPU_OPERATOR(DequeueBlobs, DequeueBlobsOp<CPUContext>);
REGISTER_CPU_OPERATOR(CloseBlobsQueue, CloseBlobsQueueOp<CPUContext>);
REGISTER_CPU_OPERATOR(SafeEnqueueBlobs, SafeEnqueueBlobsOp<CPUContext>);
REGISTER_CPU_OPERATOR(SafeDequeueBlobs, SafeDequeueBlobsOp<CPUContext>);
REGISTER_CPU_OPERATOR(WeightedSampleDequeueBlobs, WeightedSampleDequeueBlobsOp<CPUContext>);

OPERATOR_SCHEMA(CreateBlobsQueue)
    .NumInputs(0)
    .NumOutputs(1)
    .NonTensorOutputs({0})
    .SetDoc("Makes a bounded first-in-first-out queue of records, each a fixed number of blobs.")
    .Arg<int>("capacity", "Records that fit; at least 1. Default 1.")
    .Arg<int>("num_blobs", "Blobs of a record; at least 1. Default 1.")
    .ArgList<std::string>("field_names",
                          "Names of the blobs of a record, for readers. Default none.")
    .Arg<bool>("enforce_unique_name", "1: throws if the output holds a queue already. Default 0.")
    .Output(0, "queue", "The queue, a blob that is not a tensor.")
    .CpuOnly(cpu_only::kQueues);
OPERATOR_SCHEMA(EnqueueBlobs)
    .NumInputsOutputs([](int inputs, int outputs) { return outputs >= 1 && inputs == outputs + 1; })
    .EnforceInplace([](int input, int output) { return input == output + 1; })
    .SetDoc(R"DOC(
Puts a record into a queue; waits while it is full. Fails if the queue is closed. The contents move
into the queue; the contents of the blobs are undefined afterwards.
)DOC")
    .Input(0, "queue", "A queue made by CreateBlobsQueue.")
    .Input(1, "blobs", "The blobs of the record, as many as the queue has.")
    .Output(0, "blobs", "The same blobs.")
    .CpuOnly(cpu_only::kQueues);
OPERATOR_SCHEMA(DequeueBlobs)
    .NumInputs(1)
    .NumOutputs([](int outputs) { return outputs >= 1; })
    .SetDoc("Takes a record out of a queue; waits for one. Fails if the queue is closed and empty.")
    .Arg<float>("timeout_secs",
                "Fail if no record comes for so many seconds. Default 0: wait for ever.")
    .Input(0, "queue", "A queue made by CreateBlobsQueue.")
    .Output(0, "blobs", "The blobs of the record, as many as the queue has.")
    .CpuOnly(cpu_only::kQueues);
OPERATOR_SCHEMA(CloseBlobsQueue)
    .NumInputs(1)
    .NumOutputs(0)
    .SetDoc(
        "Ends writing to a queue and wakes all waiting operators. Its records can still be read.")
    .Input(0, "queue", "A queue made by CreateBlobsQueue.")
    .CpuOnly(cpu_only::kQueues);
OPERATOR_SCHEMA(SafeEnqueueBlobs)
    .NumInputsOutputs([](int inputs, int outputs) { return inputs >= 2 && inputs == outputs; })
    .EnforceInplace([](int input, int output) { return input == output + 1; })
    .SetDoc("As EnqueueBlobs, but tells whether the queue was closed instead of failing.")
    .Input(0, "queue", "A queue made by CreateBlobsQueue.")
    .Input(1, "blobs", "The blobs of the record, as many as the queue has.")
    .Output(0, "blobs", "The same blobs.")
    .Output(1, "status", "The last output, a bool scalar: true if the queue was closed.")
    .CpuOnly(cpu_only::kQueues);
OPERATOR_SCHEMA(SafeDequeueBlobs)
    .NumInputs(1)
    .NumOutputs([](int outputs) { return outputs >= 2; })
    .SetDoc(R"DOC(
As DequeueBlobs, but if the queue is closed and empty it says so instead of failing; the blobs then
keep their contents.
)DOC")
    .Arg<int>("num_records",
              "Records to take at once, concatenated along the first dimension; fewer at the end "
              "of the queue. Tensors of one blob must agree in all other dimensions. Default 1.")
    .Input(0, "queue", "A queue made by CreateBlobsQueue.")
    .Output(0, "blobs", "The blobs of the record, as many as the queue has.")
    .Output(1, "status", "The last output, a bool scalar: true if there is no record any more.")
    .CpuOnly(cpu_only::kQueues);
OPERATOR_SCHEMA(WeightedSampleDequeueBlobs)
    .NumInputs([](int inputs) { return inputs >= 1; })
    .NumOutputs([](int outputs) { return outputs >= 2; })
    .SetDoc(R"DOC(
Takes a record out of one of several queues, drawn at random anew each time; waits for one. Tells
whether the queue that was drawn is closed and empty: the blobs keep what they had then.
)DOC")
    .ArgList<float>("weights", "The weight of each queue; not negative. Default: equal weights.")
    .Arg<int>("table_idx_blob",
              "The output that gets the index of the queue, an int32 scalar: the one after the "
              "status or, as in Caffe2, one of the blobs, which then does not get its part of the "
              "record. Default -1: none.")
    .Input(0, "queues", "Queues made by CreateBlobsQueue, with equally many blobs.")
    .Output(0, "blobs", "The blobs of the record, as many as the queues have.")
    .Output(1, "status",
            "After the blobs, a bool scalar: true if there is no record left. One more output may "
            "follow, for table_idx_blob.")
    .CpuOnly(cpu_only::kQueues);

NO_GRADIENT(CreateBlobsQueue);
NO_GRADIENT(EnqueueBlobs);
NO_GRADIENT(DequeueBlobs);
NO_GRADIENT(CloseBlobsQueue);
NO_GRADIENT(SafeEnqueueBlobs);
NO_GRADIENT(SafeDequeueBlobs);
NO_GRADIENT(WeightedSampleDequeueBlobs);

}  // namespace caffe2
