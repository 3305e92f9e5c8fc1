#include "operators/io/batch_uploader_cuda.h"

#include <utility>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/logging.h"
#include "caffe2/cuda/stream_memory.h"

namespace caffe2 {
namespace {

// The part of a batch on the device.
struct Staged {
  struct Buffer {
    void* data = nullptr;
    size_t capacity = 0, size = 0;  // bytes
  };

  explicit Staged(int device_id)
      : device(device_id),
        stream(cuda::GetStream(device_id, cuda::kCopyStream)),
        copied(device_id),
        released(device_id) {}
  // Waits for the copy, as the host memory is freed afterwards.
  ~Staged() {
    try {
      copied.Synchronize();
      released.Delay(stream);
    } catch (const std::exception& error) {
      LOG(ERROR) << error.what();
    }
    for (const Buffer& buffer : buffers) {
      if (buffer.data != nullptr) cuda::FreeOn(stream, buffer.data, device);
    }
  }
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;

  void Reserve(Buffer* buffer, size_t bytes) const {
    if (bytes <= buffer->capacity) return;
    if (buffer->data != nullptr) cuda::FreeOn(stream, std::exchange(buffer->data, nullptr), device);
    buffer->capacity = 0;
    buffer->data = cuda::AllocateOn(stream, bytes, device);
    if (buffer->data == nullptr) {
      const cuda::FreeMemory memory = cuda::MemoryOf(device);
      throw OutOfMemoryError(MakeString("out of memory on cuda:", device, ": cannot allocate ",
                                        bytes, " bytes for a batch of input; ", memory.free, " of ",
                                        memory.total, " are free"));
    }
    buffer->capacity = bytes;
  }

  const int device;
  const cuda::Stream stream;
  // Recorded after the copy, and after the work that reads the copy.
  cuda::Event copied, released;
  std::vector<Buffer> buffers;                     // of the outputs
  std::vector<std::shared_ptr<void>> page_locked;  // memory of the outputs on the host
};

Staged& StagedOf(const db::InputBatch& batch) {
  return *static_cast<Staged*>(batch.uploaded.get());
}

bool IsPlain(const Tensor& tensor) { return tensor.dtype().copy() == nullptr; }

}  // namespace

void CudaBatchUploader::Reclaim(db::InputBatch* batch) {
  if (batch->uploaded != nullptr) StagedOf(*batch).copied.Synchronize();
}

void CudaBatchUploader::Place(db::InputBatch* batch) {
  const cuda::DeviceGuard guard(device_);
  if (batch->uploaded == nullptr) batch->uploaded = std::make_shared<Staged>(device_);
  Staged& staged = StagedOf(*batch);
  staged.page_locked.resize(batch->outputs.size());
  for (size_t i = 0; i < batch->outputs.size(); ++i) {
    Tensor& output = batch->outputs[i];
    if (!IsPlain(output) || output.nbytes() == 0) continue;
    // A tensor that outgrew its memory has new memory now.
    if (output.raw_data() == staged.page_locked[i].get()) continue;
    const size_t bytes = output.nbytes();
    staged.page_locked[i].reset(cuda::AllocatePinned(bytes), cuda::FreePinned);
    output.ShareExternalPointer(staged.page_locked[i], output.dtype(), bytes);
  }
}

void CudaBatchUploader::Upload(db::InputBatch* batch) {
  const cuda::DeviceGuard guard(device_);
  Staged& staged = StagedOf(*batch);
  staged.released.Delay(staged.stream);
  staged.buffers.resize(batch->outputs.size());
  for (size_t i = 0; i < batch->outputs.size(); ++i) {
    const Tensor& output = batch->outputs[i];
    Staged::Buffer& buffer = staged.buffers[i];
    buffer.size = IsPlain(output) ? output.nbytes() : 0;
    if (buffer.size == 0) continue;
    staged.Reserve(&buffer, buffer.size);
    cuda::CopyAsync(buffer.data, output.raw_data(), buffer.size, staged.stream);
  }
  staged.copied.Record(staged.stream);
}

bool CudaBatchUploader::Await(const db::InputBatch& batch) {
  const cuda::Event& copied = StagedOf(batch).copied;
  if (copied.Done()) return false;
  copied.Synchronize();
  return true;
}

const void* CudaBatchUploader::OnDevice(const db::InputBatch& batch, size_t i) {
  const Staged::Buffer& buffer = StagedOf(batch).buffers.at(i);
  return buffer.size > 0 ? buffer.data : nullptr;
}

void CudaBatchUploader::Release(const db::InputBatch& batch, cuda::Stream stream) {
  StagedOf(batch).released.Record(stream);
}

}  // namespace caffe2
