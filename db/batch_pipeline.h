// Batches read and decoded ahead of their use.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "caffe2/core/tensor.h"
#include "db/db_reader.h"

namespace caffe2::db {

// One batch on its way from the database to the net.
struct InputBatch {
  RecordBatch source;
  std::vector<Tensor> outputs;
  std::exception_ptr error;        // what went wrong in reading or decoding, if anything
  std::shared_ptr<void> uploaded;  // what a BatchUploader keeps with the batch; goes first
};

// Passes batches on to a device as soon as they are decoded, while the net still works on earlier
// ones. Called by the threads of a pipeline, for several batches at the same time; what it throws
// travels with the batch.
class BatchUploader {
 public:
  virtual ~BatchUploader() = default;
  // Before anything of the batch is changed: waits until it is no longer read.
  virtual void Reclaim(InputBatch* batch) = 0;
  // When the outputs have their shapes and types: may give them other memory.
  virtual void Place(InputBatch* batch) = 0;
  // When all of the batch is decoded, without an error.
  virtual void Upload(InputBatch* batch) = 0;
};

// Reads batches from a DBReader and decodes them in threads of its own: a free batch is filled
// with records, its items are decoded by all threads together, then it waits, in the order of the
// stream, for Pop(). At most `depth` batches are under way. An exception travels with its batch.
class BatchPipeline {
 public:
  struct Options {
    int batch_size = 1;
    int threads = 1;
    int depth = 3;
    int items_at_once = 1;  // that one thread decodes before it looks for more
  };
  // Shapes and allocates the outputs; called once for each batch, before it is decoded.
  using PrepareFn = std::function<void(InputBatch*)>;
  // Decodes one record into the outputs; several of one batch at the same time. The key of the
  // record is added to what it throws.
  using DecodeFn = std::function<void(InputBatch*, int item)>;

  // Starts the threads. The functions, and the uploader if there is one, must stay until the
  // pipeline is gone.
  BatchPipeline(DBReader reader, std::unique_ptr<DBReader::Consumer> consumer,
                const Options& options, PrepareFn prepare, DecodeFn decode,
                BatchUploader* uploader = nullptr);
  // Waits for decoding under way, but not for records that a source has yet to write.
  ~BatchPipeline();
  BatchPipeline(const BatchPipeline&) = delete;
  BatchPipeline& operator=(const BatchPipeline&) = delete;

  // The next batch, which counts as handed to the net from now on. Throws the error that came with
  // it, with the database named; the following call continues behind it. The batch stays valid
  // until the next call. While it waits, `while_waiting` is called now and then; it may throw to
  // give up.
  InputBatch* Pop(const std::function<void()>& while_waiting = {});

 private:
  struct Slot {
    InputBatch batch;
    int next_item = 0;   // not yet taken by a thread
    int items_left = 0;  // not yet decoded
    bool read = false;   // records are there
    bool ready = false;  // for Pop
  };

  void Work();
  void ReadSlot(Slot* slot);
  // The last item of the batch is decoded. The lock is released meanwhile.
  void FinishSlot(std::unique_lock<std::mutex>* lock, Slot* slot);
  std::exception_ptr DecodeItems(InputBatch* batch, int begin, int end) const;
  // Items to decode, or null.
  Slot* ClaimItems(int* begin, int* end);
  Slot* WaitForFront(std::unique_lock<std::mutex>* lock,
                     const std::function<void()>& while_waiting);
  void ThrowIfStopped();
  void Recycle(std::unique_lock<std::mutex>* lock, Slot* slot);

  DBReader reader_;
  std::unique_ptr<DBReader::Consumer> consumer_;
  const Options options_;
  const PrepareFn prepare_;
  const DecodeFn decode_;
  BatchUploader* const uploader_;

  std::mutex mutex_;  // of all below but the contents of slots being read or decoded
  std::condition_variable work_, done_;
  bool stop_ = false;
  bool reading_ = false;  // records are read by one thread at a time, to keep their order
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot*> free_;
  std::deque<Slot*> under_way_;  // in the order of the stream
  Slot* popped_ = nullptr;
  std::vector<std::thread> threads_;
};

// The pipeline of an input operator, which meets its reader only when it runs, and may meet
// another one later.
class Prefetcher {
 public:
  Prefetcher(const BatchPipeline::Options& options, BatchPipeline::PrepareFn prepare,
             BatchPipeline::DecodeFn decode, BatchUploader* uploader = nullptr)
      : options_(options),
        prepare_(std::move(prepare)),
        decode_(std::move(decode)),
        uploader_(uploader) {}

  // Takes its turn among the reader's consumers. Called as soon as the reader is known, so that
  // the operators of a net take turns in their order. Starts no thread.
  void Attach(const DBReader& reader);
  // The next batch (BatchPipeline::Pop); starts reading ahead with the first call.
  InputBatch* Next(const DBReader& reader, const std::function<void()>& while_waiting = {});

 private:
  const BatchPipeline::Options options_;
  const BatchPipeline::PrepareFn prepare_;
  const BatchPipeline::DecodeFn decode_;
  BatchUploader* const uploader_;
  std::optional<DBReader> reader_;
  std::unique_ptr<DBReader::Consumer> consumer_;  // until the pipeline has it
  std::unique_ptr<BatchPipeline> pipeline_;
};

}  // namespace caffe2::db
