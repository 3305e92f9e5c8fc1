// Reads and decodes batches ahead of their use.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "caffe2/core/logging.h"
#include "caffe2/core/tensor.h"
#include "caffe2/core/type_meta.h"
#include "db/db_reader.h"
#include "db/image/augmentation.h"

namespace caffe2::db {

// One batch on its way from the database to the net.
struct InputBatch {
  RecordBatch source;
  std::vector<Tensor> outputs;
  // JPEG files that a device decodes, one after the other: bytes on the host. If it has elements,
  // the last but one output is a tensor of bytes with the JpegCrop of each image, and output 0
  // lacks the crops of the images that have a file until the device has made them.
  Tensor files;
  std::vector<int64_t> file_begins;  // where each item has room for its file
  std::vector<int> refused;          // items whose files the device could not decode; sorted
  std::exception_ptr error;          // the first failure of reading or decoding, if any
  std::shared_ptr<void> uploaded;    // the BatchUploader's state of this batch; destroyed first
};

// Copies batches to a device as soon as they are decoded, while the net works on earlier ones. The
// threads of a pipeline call it, for several batches at the same time. The pipeline stores an
// exception in InputBatch::error.
class BatchUploader {
 public:
  virtual ~BatchUploader() = default;
  // Called before the batch is overwritten: waits until the device no longer reads it.
  virtual void Reclaim(InputBatch* batch) = 0;
  // Called when outputs and files have their shapes and types: may give them other memory.
  virtual void Place(InputBatch* batch) = 0;
  // Called when the whole batch is decoded without an error. Returns the items whose files the
  // device cannot decode, sorted. The pipeline then decodes these again, with InputBatch::refused
  // set, and calls Reclaim and Upload once more.
  virtual std::vector<int> Upload(InputBatch* batch) = 0;
  // True if the device can decode this JPEG file. Thread-safe.
  virtual bool Decodes(std::string_view file) const = 0;
};

// How a device finishes output 0, the pixels of cropped images.
struct DeviceNormalization {
  NormalizeParams params;
  TypeMeta output_type;  // float, float16 or bfloat16
};

// Receives the images of a database, in its order, a few at a time: `images` are the next of
// `total` images, uint8 {n, side, side, channels} on the host.
using ImageSink = std::function<void(int64_t total, const Tensor& images)>;

// Reads batches from a DBReader and decodes them in its own threads. One thread fills a free batch
// with records, all threads together decode its items, and Next() returns the batches in the order
// of the stream. At most `depth` batches are read ahead. If reading or decoding throws, Next()
// throws the exception in place of that batch.
//
// A record is bad if `decode` throws an Error for it. The pipeline tolerates up to max_bad_records
// bad records; the reader counts them for all its users (DBReader::NoteBadRecord). Each is logged
// once, with its key, the reason and the count; records with the same key count as one. The outputs
// of a bad record become a copy of the outputs of the last good record before it in the batch or,
// if there is none, of the first good record. So bad records do not change positions: shards that
// read parts of one stream still agree on what each has read, epochs keep their length, and a run
// with the same data has the same batches for any number of threads and after a resume. If all
// records of a batch are bad, Next() throws EnforceNotMet.
//
// Attach, Start and Next must not be called at the same time.
class BatchPipeline {
 public:
  struct Options {
    int batch_size = 1;
    int threads = 1;
    int depth = 3;
    int items_at_once = 1;        // items that one thread decodes before it looks for other work
    int64_t max_bad_records = 0;  // how many different records may be bad; see above
    // Set if a device normalises output 0. The batch then has one more output than the operator,
    // the last: a tensor of bytes with the SampledAugmentation of each image.
    std::optional<DeviceNormalization> normalization = {};
    // Set if a device keeps all images in its memory: a function that decodes the whole database.
    // The operator calls it for each reader, after Attach and before the first Next; no thread may
    // decode meanwhile. Records then come without contents (DBReader::AddConsumer), and output 0 of
    // a batch is a tensor of bytes with the ResidentCrop of each image.
    std::function<void(const DBReader&, const ImageSink&)> load_images = {};
  };
  // Shapes and allocates the outputs. Called once for each batch, before it is decoded.
  using PrepareFn = std::function<void(InputBatch*)>;
  // Decodes one record into the outputs. Called for several items of a batch at the same time. The
  // pipeline adds the key of the record to exceptions.
  using DecodeFn = std::function<void(InputBatch*, int item)>;

  // `uploader` may be null and must outlive the pipeline. Throws EnforceNotMet if threads, depth or
  // items_at_once is not positive, or max_bad_records is negative.
  BatchPipeline(const Options& options, PrepareFn prepare, DecodeFn decode,
                BatchUploader* uploader = nullptr);
  // Waits until the threads have finished their current items, but not for records that a source
  // has not written yet.
  ~BatchPipeline();
  BatchPipeline(const BatchPipeline&) = delete;
  BatchPipeline& operator=(const BatchPipeline&) = delete;

  const Options& options() const { return options_; }

  // Becomes a consumer of the reader and drops the batches of an earlier reader. Starts no thread.
  // Consumers take turns in the order in which they attach, so the operators of a net call this in
  // the order of the net, as soon as they know the reader.
  void Attach(const DBReader& reader);
  // Starts the threads. Next() does so too.
  void Start();
  // Attaches to the reader, waits for the next batch and commits it (DBReader::Commit). The batch
  // stays valid until the next call. Throws the batch's exception, with the name of the database;
  // the next call then returns the batch after it. While it waits, it calls `while_waiting` about
  // every 50 ms; the function may throw to give up.
  InputBatch* Next(const DBReader& reader, const std::function<void()>& while_waiting = {});

 private:
  struct Slot {
    InputBatch batch;
    int next_item = 0;      // the first item that no thread has taken
    int items_left = 0;     // items not yet decoded
    bool read = false;      // the records have been read
    bool ready = false;     // Next() may return the batch
    std::vector<char> bad;  // for each item: the record is bad, and tolerated
  };

  void Stop();
  void Work();
  void ReadSlot(Slot* slot);
  // Called after the last item of the batch is decoded. Releases the lock during the upload.
  void FinishSlot(std::unique_lock<std::mutex>* lock, Slot* slot);
  std::exception_ptr DecodeItems(Slot* slot, int begin, int end);
  // Replaces bad items and uploads the batch, if there is an uploader.
  void UploadSlot(Slot* slot);
  // Returns false if there are too many bad records.
  bool Tolerate(const Record& record, const Error& error);
  // Fills the places of bad records, if there are any. Throws EnforceNotMet if all are bad.
  void ReplaceBadItems(Slot* slot) const;
  // Takes items [*begin, *end) of a slot to decode; null if there are none.
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

  std::mutex mutex_;  // guards all members below, except slots that a thread reads or decodes
  std::condition_variable work_, done_;
  bool stop_ = false;
  bool reading_ = false;  // one thread at a time reads records, which keeps their order
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot*> free_;
  std::deque<Slot*> under_way_;  // in the order of the stream
  Slot* handed_out_ = nullptr;
  std::vector<std::thread> threads_;
};

}  // namespace caffe2::db
