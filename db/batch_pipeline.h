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
#include <vector>

#include "caffe2/core/tensor.h"
#include "caffe2/core/type_meta.h"
#include "db/db_reader.h"
#include "db/image/augmentation.h"

namespace caffe2::db {

// One batch on its way from the database to the net.
struct InputBatch {
  RecordBatch source;
  std::vector<Tensor> outputs;
  std::exception_ptr error;        // the first failure of reading or decoding, if any
  std::shared_ptr<void> uploaded;  // what a BatchUploader keeps with the batch; destroyed first
};

// Passes batches on to a device as soon as they are decoded, while the net still works on earlier
// ones. Called by the threads of a pipeline, for several batches at the same time. An exception
// travels with its batch.
class BatchUploader {
 public:
  virtual ~BatchUploader() = default;
  // Before the batch is changed: waits until nobody reads it any more.
  virtual void Reclaim(InputBatch* batch) = 0;
  // When the outputs have their shapes and types: may give them other memory.
  virtual void Place(InputBatch* batch) = 0;
  // When the whole batch is decoded without an error.
  virtual void Upload(InputBatch* batch) = 0;
};

// How a device completes output 0 of a batch, the pixels of cropped images.
struct DeviceNormalization {
  NormalizeParams params;
  TypeMeta output_type;  // float, float16 or bfloat16
};

// Reads batches from a DBReader and decodes them in threads of its own. A free batch is filled with
// records; all threads together decode its items; then it waits for Next(), in the order of the
// stream. At most `depth` batches are under way. An exception travels with its batch.
//
// Attach, Start and Next belong to one thread at a time.
class BatchPipeline {
 public:
  struct Options {
    int batch_size = 1;
    int threads = 1;
    int depth = 3;
    int items_at_once = 1;  // items that one thread decodes before it looks for more
    // Set if a device completes output 0. The batch then has one more output than the operator,
    // of bytes: the SampledAugmentation of each image.
    std::optional<DeviceNormalization> normalization;
  };
  // Shapes and allocates the outputs; called once for each batch, before it is decoded.
  using PrepareFn = std::function<void(InputBatch*)>;
  // Decodes one record into the outputs; called for several items of a batch at the same time. The
  // pipeline adds the key of the record to exceptions.
  using DecodeFn = std::function<void(InputBatch*, int item)>;

  // `uploader` may be null, and must outlive the pipeline. Throws EnforceNotMet for options that
  // are not positive.
  BatchPipeline(const Options& options, PrepareFn prepare, DecodeFn decode,
                BatchUploader* uploader = nullptr);
  // Waits for decoding under way, but not for records that a source has yet to write.
  ~BatchPipeline();
  BatchPipeline(const BatchPipeline&) = delete;
  BatchPipeline& operator=(const BatchPipeline&) = delete;

  const Options& options() const { return options_; }

  // Takes its turn among the reader's consumers; drops the batches of another reader. Called as
  // soon as the reader is known, so that the operators of a net take turns in their order. Starts
  // no thread.
  void Attach(const DBReader& reader);
  // Starts reading ahead. Next() does so too.
  void Start();
  // Attaches to the reader and waits for the next batch, which counts as handed to the net from now
  // on. Throws the error that came with the batch, with the database named; the call after that
  // continues with the batch that follows. The batch stays valid until the next call. While it
  // waits, `while_waiting` is called now and then; it may throw to give up.
  InputBatch* Next(const DBReader& reader, const std::function<void()>& while_waiting = {});

 private:
  struct Slot {
    InputBatch batch;
    int next_item = 0;   // not yet taken by a thread
    int items_left = 0;  // not yet decoded
    bool read = false;   // records are there
    bool ready = false;  // for Next
  };

  void Stop();
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

  const Options options_;
  const PrepareFn prepare_;
  const DecodeFn decode_;
  BatchUploader* const uploader_;
  std::optional<DBReader> reader_;  // changes only while no thread runs
  DBReader::ConsumerId consumer_ = 0;

  std::mutex mutex_;  // guards all below but the contents of slots being read or decoded
  std::condition_variable work_, done_;
  bool stop_ = false;
  bool reading_ = false;  // records are read by one thread at a time, to keep their order
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot*> free_;
  std::deque<Slot*> under_way_;  // in the order of the stream
  Slot* handed_out_ = nullptr;
  std::vector<std::thread> threads_;
};

}  // namespace caffe2::db
