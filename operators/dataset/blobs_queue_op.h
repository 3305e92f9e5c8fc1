// Operators that make, fill, read and close queues of records (blobs_queue.h).
#pragma once

#include <memory>

#include "caffe2/core/operator.h"
#include "caffe2/core/workspace.h"
#include "operators/common/created_object.h"
#include "operators/dataset/blobs_queue.h"

namespace caffe2 {

// The function that operators of a workspace call while they wait. It throws once a stop is
// requested.
WhileWaiting StopWith(const Workspace* ws);

// The queue in input i; the pointer keeps it alive. Throws EnforceNotMet if it was not created.
template <class Queue>
std::shared_ptr<Queue> QueueOf(const OperatorBase& op, int i = 0) {
  return CreatedObject<std::shared_ptr<Queue>>(op, i, "queue", Queue::kCreator);
}

// Makes a queue of `capacity` records of `num_blobs` blobs.
template <class Context>
class CreateBlobsQueueOp final : public Operator<Context> {
 public:
  CreateBlobsQueueOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        capacity_(this->template GetSingleArgument<int64_t>("capacity", 1)),
        num_blobs_(this->template GetSingleArgument<int64_t>("num_blobs", 1)),
        unique_(this->template GetSingleArgument<bool>("enforce_unique_name", false)) {
    const auto names = this->template GetRepeatedArgument<std::string>("field_names");
    CAFFE_ENFORCE(names.empty() || static_cast<int64_t>(names.size()) == num_blobs_,
                  "argument field_names must have one name for each of the ", num_blobs_,
                  " blobs of queue ", def.output(0), ", found ", names.size());
  }

  bool RunOnDevice() override {
    Blob* output = this->OutputBlob(0);
    CAFFE_ENFORCE(!unique_ || !output->IsType<std::shared_ptr<BlobsQueue>>(), "the queue ",
                  this->debug_def().output(0), " exists already");
    *output->GetMutable<std::shared_ptr<BlobsQueue>>() =
        std::make_shared<BlobsQueue>(capacity_, num_blobs_);
    return true;
  }

 private:
  int64_t capacity_, num_blobs_;
  bool unique_;
};

// The inputs are the queue and the blobs, which are also the outputs. Fails if the queue is closed.
template <class Context>
class EnqueueBlobsOp final : public Operator<Context> {
 public:
  EnqueueBlobsOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), stop_(StopWith(ws)) {}

  bool RunOnDevice() override { return QueueOf<BlobsQueue>(*this)->Write(this->Outputs(), stop_); }

 private:
  WhileWaiting stop_;
};

// Fails if the queue is closed and empty, or after timeout_secs.
template <class Context>
class DequeueBlobsOp final : public Operator<Context> {
 public:
  DequeueBlobsOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        timeout_(this->template GetSingleArgument<float>("timeout_secs", 0.f)),
        stop_(StopWith(ws)) {}

  bool RunOnDevice() override {
    return QueueOf<BlobsQueue>(*this)->Read(this->Outputs(), timeout_, stop_);
  }

 private:
  float timeout_;
  WhileWaiting stop_;
};

// Closes the queue in input 0: threads that wait wake, and writes fail from then on. Records in the
// queue can still be read. Closing it again does nothing.
template <class Context>
class CloseBlobsQueueOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(CloseBlobsQueueOp);
  bool RunOnDevice() override {
    QueueOf<BlobsQueue>(*this)->Close();
    return true;
  }
};

// Like EnqueueBlobs, but if the queue is closed, the last output (bool) is true instead of an
// error.
template <class Context>
class SafeEnqueueBlobsOp final : public Operator<Context> {
 public:
  SafeEnqueueBlobsOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), stop_(StopWith(ws)) {}

  bool RunOnDevice() override {
    std::vector<Blob*> blobs = this->Outputs();
    blobs.pop_back();
    const bool written = QueueOf<BlobsQueue>(*this)->Write(blobs, stop_);
    Tensor* status = this->OutputCPU(this->OutputSize() - 1);
    status->Resize();
    *status->template mutable_data<bool>() = !written;
    return true;
  }

 private:
  WhileWaiting stop_;
};

// Like DequeueBlobs, but if the queue is closed and empty, the last output (bool) is true instead
// of an error. Concatenates num_records records, or fewer at the end of the queue.
template <class Context>
class SafeDequeueBlobsOp final : public Operator<Context> {
 public:
  SafeDequeueBlobsOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        num_records_(this->template GetSingleArgument<int>("num_records", 1)),
        stop_(StopWith(ws)) {
    CAFFE_ENFORCE(num_records_ > 0, "argument num_records must be positive, found ", num_records_);
  }

  bool RunOnDevice() override {
    std::vector<Blob*> blobs = this->Outputs();
    blobs.pop_back();
    const auto queue = QueueOf<BlobsQueue>(*this);
    const bool read = queue->Read(blobs, 0, stop_);
    for (int n = 1; read && n < num_records_; ++n) {
      if (!AppendRecord(queue.get(), blobs)) break;
    }
    Tensor* status = this->OutputCPU(this->OutputSize() - 1);
    status->Resize();
    *status->template mutable_data<bool>() = !read;
    return true;
  }

 private:
  bool AppendRecord(BlobsQueue* queue, const std::vector<Blob*>& outputs) {
    record_.resize(outputs.size());
    std::vector<Blob*> record;
    for (Blob& blob : record_) record.push_back(&blob);
    if (!queue->Read(record, 0, stop_)) return false;
    for (size_t i = 0; i < outputs.size(); ++i) {
      Append(record_[i].template Get<Tensor>(), outputs[i]->template GetMutable<Tensor>());
    }
    return true;
  }

  void Append(const Tensor& rows, Tensor* output) {
    CAFFE_ENFORCE(rows.dim() > 0 && output->dim() == rows.dim() &&
                      rows.size_from_dim(1) == output->size_from_dim(1) &&
                      rows.dtype() == output->dtype(),
                  "records of ", output->DebugString(), " and ", rows.DebugString(),
                  " cannot be concatenated");
    const int64_t before = output->numel();
    output->ExtendTo(output->size(0) + rows.size(0));
    auto* end = static_cast<char*>(output->raw_mutable_data()) + before * rows.itemsize();
    this->context_.CopyItems(rows.dtype(), rows.numel(), rows.raw_data(), end);
  }

  int num_records_;
  WhileWaiting stop_;
  std::vector<Blob> record_;
};

// Each run draws one of several queues by the given weights and reads a record from it.
template <class Context>
class WeightedSampleDequeueBlobsOp final : public Operator<Context> {
 public:
  WeightedSampleDequeueBlobsOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        index_output_(this->template GetSingleArgument<int>("table_idx_blob", -1)),
        stop_(StopWith(ws)) {
    CAFFE_ENFORCE(index_output_ < this->OutputSize(), "argument table_idx_blob (", index_output_,
                  ") must be less than the number of outputs (", this->OutputSize(), ")");
    const auto weights = this->template GetRepeatedArgument<float>("weights");
    CAFFE_ENFORCE(weights.empty() || static_cast<int>(weights.size()) == this->InputSize(),
                  "argument weights must have one weight for each of the ", this->InputSize(),
                  " queues, found ", weights.size());
    double sum = 0;
    for (int i = 0; i < this->InputSize(); ++i) {
      const float weight = weights.empty() ? 1.f : weights[i];
      CAFFE_ENFORCE(weight >= 0.f, "argument weights must not be negative, found ", weight,
                    " for queue ", i);
      cumulative_.push_back(sum += weight);
    }
    CAFFE_ENFORCE(sum > 0., "argument weights must have a positive sum, found ", sum);
  }

  bool RunOnDevice() override {
    const double drawn = this->context_.random().UniformDouble() * cumulative_.back();
    int chosen = 0;
    while (chosen + 1 < this->InputSize() && cumulative_[chosen] <= drawn) ++chosen;
    const auto queue = QueueOf<BlobsQueue>(*this, chosen);
    std::vector<Blob*> blobs = this->Outputs();
    const int more = this->OutputSize() - static_cast<int>(queue->num_blobs());
    CAFFE_ENFORCE(more == 1 || more == 2, "there must be one or two outputs more than the ",
                  queue->num_blobs(), " blobs of queue ", chosen, ", found ", this->OutputSize(),
                  " outputs");
    const auto status = static_cast<int>(queue->num_blobs());
    CAFFE_ENFORCE(index_output_ != status, "argument table_idx_blob must not be ", status,
                  ", the output that holds the status");
    blobs.resize(queue->num_blobs());
    const bool read = queue->Read(blobs, 0, stop_);
    WriteScalar(status, !read);
    if (index_output_ >= 0) WriteScalar(index_output_, chosen);
    return true;
  }

 private:
  template <typename T>
  void WriteScalar(int output, T value) {
    Tensor* scalar = this->OutputCPU(output);
    scalar->Resize();
    *scalar->template mutable_data<T>() = value;
  }

  int index_output_;
  WhileWaiting stop_;
  std::vector<double> cumulative_;
};

}  // namespace caffe2
