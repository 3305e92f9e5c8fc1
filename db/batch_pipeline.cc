#include "db/batch_pipeline.h"

#include <algorithm>
#include <utility>

#include "caffe2/core/context.h"
#include "caffe2/core/logging.h"
#include "caffe2/utils/printable_text.h"
#include "caffe2/utils/trace.h"
#include "caffe2/utils/waiting_time.h"

namespace caffe2::db {

BatchPipeline::BatchPipeline(const Options& options, PrepareFn prepare, DecodeFn decode,
                             BatchUploader* uploader)
    : options_(options),
      prepare_(std::move(prepare)),
      decode_(std::move(decode)),
      uploader_(uploader) {
  CAFFE_ENFORCE(options_.threads > 0, "the number of decode threads must be positive, found ",
                options_.threads);
  CAFFE_ENFORCE(options_.depth > 0, "the number of batches in flight must be positive, found ",
                options_.depth);
  CAFFE_ENFORCE(options_.items_at_once > 0,
                "the number of items that a thread decodes at once must be positive, found ",
                options_.items_at_once);
  CAFFE_ENFORCE(options_.max_bad_records >= 0, "max_bad_records must not be negative, found ",
                options_.max_bad_records);
}

BatchPipeline::~BatchPipeline() { Stop(); }

void BatchPipeline::Attach(const DBReader& reader) {
  if (reader_ && *reader_ == reader) return;
  Stop();
  DBReader attached = reader;
  consumer_ = attached.AddConsumer(options_.batch_size, options_.load_images == nullptr);
  reader_ = std::move(attached);
}

void BatchPipeline::Start() {
  if (!threads_.empty()) return;
  // One more than are read ahead: the batch that the net uses.
  for (int i = 0; i < options_.depth + 1; ++i) {
    slots_.push_back(std::make_unique<Slot>());
    free_.push_back(slots_.back().get());
  }
  for (int i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { Work(); });
}

void BatchPipeline::Stop() {
  if (!reader_) return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  under_way_.clear();
  free_.clear();
  slots_.clear();
  handed_out_ = nullptr;
  stop_ = false;
  reader_->RemoveConsumer(consumer_);
  reader_.reset();
}

BatchPipeline::Slot* BatchPipeline::ClaimItems(int* begin, int* end) {
  for (Slot* slot : under_way_) {
    if (!slot->read || slot->next_item == options_.batch_size) continue;
    *begin = slot->next_item;
    *end = std::min(*begin + options_.items_at_once, options_.batch_size);
    slot->next_item = *end;
    return slot;
  }
  return nullptr;
}

void BatchPipeline::ThrowIfStopped() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (stop_) throw Error("the batch pipeline is stopping");
}

void BatchPipeline::ReadSlot(Slot* slot) {
  const TracedSpan span("input", "read a batch");
  slot->batch.error = nullptr;
  slot->batch.refused.clear();
  try {
    reader_->Read(consumer_, &slot->batch.source, [this] { ThrowIfStopped(); });
    if (uploader_) uploader_->Reclaim(&slot->batch);
    prepare_(&slot->batch);
    if (uploader_) uploader_->Place(&slot->batch);
  } catch (...) {
    slot->batch.error = std::current_exception();
  }
}

std::exception_ptr BatchPipeline::DecodeItems(Slot* slot, int begin, int end) {
  const TracedSpan span("input", "decode");
  InputBatch* batch = &slot->batch;
  for (int item = begin; item < end; ++item) {
    try {
      decode_(batch, item);
    } catch (Error& error) {
      const Record& record = batch->source.records[item];
      error.AddContext("record \"" + record.key + "\"");
      if (!Tolerate(record, error)) return std::current_exception();
      slot->bad[item] = 1;
    } catch (...) {
      return std::current_exception();
    }
  }
  return nullptr;
}

bool BatchPipeline::Tolerate(const Record& record, const Error& error) {
  const DBReader::BadRecord noted = reader_->NoteBadRecord(record.key, options_.max_bad_records);
  if (noted == DBReader::BadRecord::kNew) {
    LOG(WARNING) << "skipping bad record " << reader_->NumBadRecords() << " (--max_bad_records "
                 << options_.max_bad_records << "): " << PrintableText(error.what())
                 << " (database " << reader_->source() << ")";
  }
  return noted != DBReader::BadRecord::kTooMany;
}

void BatchPipeline::ReplaceBadItems(Slot* slot) const {
  if (std::count(slot->bad.begin(), slot->bad.end(), 1) == 0) return;
  const auto good = std::find(slot->bad.begin(), slot->bad.end(), 0);
  CAFFE_ENFORCE(good != slot->bad.end(), "all ", options_.batch_size,
                " records of a batch are bad, the first is \"", slot->batch.source.records[0].key,
                "\"");
  size_t from = static_cast<size_t>(good - slot->bad.begin());
  for (size_t item = 0; item < slot->bad.size(); ++item) {
    if (!slot->bad[item]) {
      from = item;
      continue;
    }
    for (Tensor& output : slot->batch.outputs) {
      const int64_t n = output.numel() / options_.batch_size;
      auto* data = static_cast<char*>(output.raw_mutable_data());
      const size_t bytes = static_cast<size_t>(n) * output.itemsize();
      CPUContext().CopyItems(output.dtype(), n, data + from * bytes, data + item * bytes);
    }
  }
}

void BatchPipeline::UploadSlot(Slot* slot) {
  InputBatch* batch = &slot->batch;
  ReplaceBadItems(slot);
  if (!uploader_) return;
  batch->refused = uploader_->Upload(batch);
  if (batch->refused.empty()) return;
  uploader_->Reclaim(batch);
  for (const int item : batch->refused) {
    if (const auto error = DecodeItems(slot, item, item + 1)) std::rethrow_exception(error);
  }
  ReplaceBadItems(slot);
  CAFFE_ENFORCE(uploader_->Upload(batch).empty(), "files of a batch are refused again");
}

void BatchPipeline::FinishSlot(std::unique_lock<std::mutex>* lock, Slot* slot) {
  if (!slot->batch.error) {
    lock->unlock();
    try {
      UploadSlot(slot);
    } catch (...) {
      slot->batch.error = std::current_exception();  // no other thread has this batch now
    }
    lock->lock();
  }
  slot->ready = true;
  done_.notify_all();
}

void BatchPipeline::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stop_) {
    int begin = 0, end = 0;
    if (Slot* slot = ClaimItems(&begin, &end)) {
      lock.unlock();
      const std::exception_ptr error = DecodeItems(slot, begin, end);
      lock.lock();
      if (error && !slot->batch.error) slot->batch.error = error;
      slot->items_left -= end - begin;
      if (slot->items_left == 0) FinishSlot(&lock, slot);
    } else if (!reading_ && !free_.empty()) {
      Slot* fresh = free_.back();
      free_.pop_back();
      fresh->read = fresh->ready = false;
      fresh->bad.assign(static_cast<size_t>(options_.batch_size), 0);
      under_way_.push_back(fresh);
      reading_ = true;
      lock.unlock();
      ReadSlot(fresh);
      lock.lock();
      reading_ = false;
      const bool failed = fresh->batch.error != nullptr;
      fresh->next_item = failed ? options_.batch_size : 0;
      fresh->items_left = failed ? 0 : options_.batch_size;
      fresh->read = true;
      fresh->ready = failed;
      if (failed) done_.notify_all();
      work_.notify_all();
    } else {
      work_.wait(lock);
    }
  }
}

BatchPipeline::Slot* BatchPipeline::WaitForFront(std::unique_lock<std::mutex>* lock,
                                                 const std::function<void()>& while_waiting) {
  const auto ready = [this] { return !under_way_.empty() && under_way_.front()->ready; };
  if (!ready()) {
    const TimedWait wait(WaitFor::kInput);
    const TracedSpan span("input", "wait for a batch");
    const auto start = std::chrono::steady_clock::now();
    constexpr std::chrono::milliseconds kLookUp{50};
    while (!done_.wait_for(*lock, kLookUp, ready)) {
      if (!while_waiting) continue;
      lock->unlock();
      while_waiting();
      lock->lock();
    }
    reader_->AddWait(std::chrono::steady_clock::now() - start);
  }
  Slot* slot = under_way_.front();
  under_way_.pop_front();
  return slot;
}

void BatchPipeline::Recycle(std::unique_lock<std::mutex>* lock, Slot* slot) {
  free_.push_back(slot);
  lock->unlock();
  work_.notify_one();
  lock->lock();
}

InputBatch* BatchPipeline::Next(const DBReader& reader,
                                const std::function<void()>& while_waiting) {
  Attach(reader);
  Start();
  std::unique_lock<std::mutex> lock(mutex_);
  if (handed_out_) Recycle(&lock, std::exchange(handed_out_, nullptr));
  while (true) {
    Slot* slot = WaitForFront(&lock, while_waiting);
    // A batch read before a Restore() is dropped, and its error too.
    if (!reader_->Commit(consumer_, slot->batch.source)) {
      Recycle(&lock, slot);
      continue;
    }
    handed_out_ = slot;
    if (!slot->batch.error) return &slot->batch;
    try {
      std::rethrow_exception(slot->batch.error);
    } catch (Error& error) {
      error.AddContext("database " + reader_->source());
      throw;
    }
  }
}

}  // namespace caffe2::db
