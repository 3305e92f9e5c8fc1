#include "operators/io/batch_uploader_cuda.h"

#include <algorithm>

#include "caffe2/core/logging.h"
#include "operators/io/stream_buffer_cuda.h"

namespace caffe2 {
namespace {

// The part of a batch on the device.
struct Staged {
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
  }
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;

  const int device;
  const cuda::Stream stream;
  // Recorded after the copy, and after the work that reads the copy.
  cuda::Event copied, released;
  std::vector<StreamBuffer> buffers;               // of the outputs
  std::vector<bool> is_there;                      // whether an output has been copied
  std::vector<std::shared_ptr<void>> page_locked;  // memory of the outputs on the host
  std::shared_ptr<void> page_locked_files;
};

Staged& StagedOf(const db::InputBatch& batch) {
  return *static_cast<Staged*>(batch.uploaded.get());
}

bool IsPlain(const Tensor& tensor) { return tensor.dtype().copy() == nullptr; }

// Gives a tensor page-locked memory, kept in *memory, with `spare` bytes more than it needs now. A
// tensor that has outgrown its memory has other memory by now.
void PageLock(size_t spare, Tensor* tensor, std::shared_ptr<void>* memory) {
  if (tensor->raw_data() == memory->get()) return;
  const size_t bytes = tensor->nbytes() + spare;
  memory->reset(cuda::AllocatePinned(bytes), cuda::FreePinned);
  tensor->ShareExternalPointer(*memory, tensor->dtype(), bytes);
}

// Whether the device makes all crops of the batch.
bool IsAllDecoded(const db::InputBatch& batch) {
  const auto* crops =
      static_cast<const db::JpegCrop*>(batch.outputs[batch.outputs.size() - 2].raw_data());
  return std::all_of(crops, crops + batch.outputs[0].size(0),
                     [](const db::JpegCrop& crop) { return crop.bytes > 0; });
}

// CudaBatchUploader::Upload, between the events.
std::vector<int> PutIntoStream(Staged* staged, JpegCropper* cropper, db::InputBatch* batch) {
  const size_t n = batch->outputs.size();
  while (staged->buffers.size() < n) staged->buffers.emplace_back(staged->device, staged->stream);
  staged->is_there.assign(n, false);
  std::vector<JpegCropper::Group> groups;
  if (cropper != nullptr) groups = JpegCropper::Arrange(batch);
  for (size_t i = 0; i < n; ++i) {
    const Tensor& output = batch->outputs[i];
    if (!IsPlain(output) || output.nbytes() == 0) continue;
    staged->is_there[i] = true;
    staged->buffers[i].Reserve(output.nbytes());
    if (i == 0 && cropper != nullptr && IsAllDecoded(*batch)) continue;
    cuda::CopyAsync(staged->buffers[i].data(), output.raw_data(), output.nbytes(), staged->stream);
  }
  if (cropper == nullptr) return {};
  const auto* crops = reinterpret_cast<const db::JpegCrop*>(staged->buffers[n - 2].data());
  return cropper->Run(*batch, groups, crops, staged->buffers[0].data());
}

}  // namespace

CudaBatchUploader::CudaBatchUploader(int device, bool decode_jpegs) : device_(device) {
  if (decode_jpegs) {
    cropper_ = std::make_unique<JpegCropper>(device, cuda::GetStream(device, cuda::kCopyStream));
  }
}

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
    if (IsPlain(output) && output.nbytes() > 0) PageLock(0, &output, &staged.page_locked[i]);
  }
  // The files of another batch may be larger.
  if (cropper_) PageLock(batch->files.nbytes() / 4, &batch->files, &staged.page_locked_files);
}

std::vector<int> CudaBatchUploader::Upload(db::InputBatch* batch) {
  const cuda::DeviceGuard guard(device_);
  Staged& staged = StagedOf(*batch);
  staged.released.Delay(staged.stream);
  JpegCropper* cropper = batch->files.numel() > 0 ? cropper_.get() : nullptr;
  std::vector<int> refused;
  try {
    refused = PutIntoStream(&staged, cropper, batch);
  } catch (...) {  // what is in the stream still reads the batch
    staged.copied.Record(staged.stream);
    throw;
  }
  staged.copied.Record(staged.stream);
  return refused;
}

bool CudaBatchUploader::Await(const db::InputBatch& batch) {
  const cuda::Event& copied = StagedOf(batch).copied;
  if (copied.Done()) return false;
  copied.Synchronize();
  return true;
}

const void* CudaBatchUploader::OnDevice(const db::InputBatch& batch, size_t i) {
  const Staged& staged = StagedOf(batch);
  return staged.is_there.at(i) ? staged.buffers[i].data() : nullptr;
}

void CudaBatchUploader::Release(const db::InputBatch& batch, cuda::Stream stream) {
  StagedOf(batch).released.Record(stream);
}

}  // namespace caffe2
