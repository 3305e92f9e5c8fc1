// CreateBlobsQueueDB: makes a queue readable as a database.
#include "db/db_reader.h"
#include "operators/common/cpu_only.h"
#include "operators/dataset/blobs_queue_op.h"

namespace caffe2 {
namespace {

// The blobs of a record that hold key and value; no key if its index is negative.
struct QueueDBOptions {
  int key_blob = -1, value_blob = 0;
  double timeout_seconds = 0;
};

// The string in a blob, which holds a string or a tensor of one.
const std::string& TextOf(const Blob& blob, const char* what) {
  if (blob.IsType<std::string>()) return blob.Get<std::string>();
  CAFFE_ENFORCE(blob.IsType<Tensor>(), "the ", what, " in a queue must be a string, not ",
                blob.meta().name());
  const Tensor& tensor = blob.Get<Tensor>();
  CAFFE_ENFORCE(tensor.numel() == 1, "the ", what, " in a queue must be one string, found ",
                tensor.numel());
  return *tensor.data<std::string>();
}

// Takes the next record out of the queue, for any requested place.
class QueueIndex final : public db::RecordIndex {
 public:
  QueueIndex(std::shared_ptr<BlobsQueue> queue, const QueueDBOptions& options)
      : queue_(std::move(queue)), options_(options), record_(queue_->num_blobs()) {}

  int64_t NumRecords() const override { return kEndless; }
  bool SupportsRandomAccess() const override { return false; }
  void SetWhileWaiting(std::function<void()> function) override {
    while_waiting_ = std::move(function);
  }

  void Read(int64_t /*i*/, std::string* key, std::string* value) override {
    std::vector<Blob*> blobs;
    for (Blob& blob : record_) blobs.push_back(&blob);
    if (!queue_->Read(blobs, options_.timeout_seconds, while_waiting_)) {
      throw IoError(options_.timeout_seconds > 0
                        ? MakeString("the queue is closed, or gave no record for ",
                                     options_.timeout_seconds, " s")
                        : "the queue is closed");
    }
    *key = options_.key_blob < 0 ? "" : TextOf(record_[options_.key_blob], "key");
    *value = TextOf(record_[options_.value_blob], "value");
  }

 private:
  std::shared_ptr<BlobsQueue> queue_;
  QueueDBOptions options_;
  std::vector<Blob> record_;
  std::function<void()> while_waiting_;
};

class QueueDB final : public db::DB {
 public:
  QueueDB(std::shared_ptr<BlobsQueue> queue, const QueueDBOptions& options)
      : queue_(std::move(queue)), options_(options) {}

  void Close() override {}
  std::unique_ptr<db::RecordIndex> NewIndex() override {
    return std::make_unique<QueueIndex>(queue_, options_);
  }
  std::unique_ptr<db::Cursor> NewCursor() override {
    CAFFE_THROW("a queue can only be read through a DBReader");
  }
  std::unique_ptr<db::Transaction> NewTransaction() override {
    CAFFE_THROW("a queue can only be written by EnqueueBlobs");
  }

 private:
  std::shared_ptr<BlobsQueue> queue_;
  QueueDBOptions options_;
};

class CreateBlobsQueueDBOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const auto queue = QueueOf<BlobsQueue>(*this);
    const QueueDBOptions options{GetSingleArgument<int>("key_blob_index", -1),
                                 GetSingleArgument<int>("value_blob_index", 0),
                                 GetSingleArgument<float>("timeout_secs", 0)};
    CAFFE_ENFORCE(options.key_blob < queue->num_blobs() && options.value_blob >= 0 &&
                      options.value_blob < queue->num_blobs(),
                  "key_blob_index (", options.key_blob, ") or value_blob_index (",
                  options.value_blob, ") is out of range for records of ", queue->num_blobs(),
                  " blobs");
    *OperatorBase::Output<std::unique_ptr<db::DBReader>>(0) = std::make_unique<db::DBReader>(
        std::make_unique<QueueDB>(queue, options), "blobs_queue", debug_def().input(0));
    return true;
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(CreateBlobsQueueDB, CreateBlobsQueueDBOp);
OPERATOR_SCHEMA(CreateBlobsQueueDB)
    .NumInputs(1)
    .NumOutputs(1)
    .NonTensorInputs({0})
    .NonTensorOutputs({0})
    .SetDoc(R"DOC(
Makes a reader for a queue, for operators that read databases: each record of the queue is a record
of the database. A record can be read only once; records that an input operator has read ahead are
lost when it ends. When the queue is closed and empty, or after timeout_secs without a record,
reading fails.
)DOC")
    .Arg<int>("key_blob_index", "(default -1) The blob with the key; -1: records have no key.")
    .Arg<int>("value_blob_index", "(default 0) The blob with the value.")
    .Arg<float>("timeout_secs", "(default 0) Seconds to wait for a record; 0: for ever.")
    .Input(0, "queue",
           "A queue made by CreateBlobsQueue, of blobs that hold a string or a tensor of one.")
    .Output(0, "reader", "The reader (DBReader).")
    .CpuOnly(cpu_only::kFiles);
NO_GRADIENT(CreateBlobsQueueDB);

}  // namespace caffe2
