// Copies batches of input to a CUDA device before they are used.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "caffe2/cuda/runtime.h"
#include "db/batch_pipeline.h"
#include "operators/io/jpeg_cropper_cuda.h"

namespace caffe2 {

// Provides page-locked memory into which batches are decoded. When a batch is complete, copies it
// to device memory of its own, on the copy stream of the device. The copy runs concurrently with
// the previous iteration, and the outputs of the net can keep their memory from run to run.
// Elements that cannot be copied bytewise stay on the host. JPEG files in a batch are decoded on
// the device.
class CudaBatchUploader final : public db::BatchUploader {
 public:
  // With `decode_jpegs` batches may have JPEG files (InputBatch::files), which the device decodes.
  // Throws Error if nvJPEG cannot be used then.
  CudaBatchUploader(int device, bool decode_jpegs);

  void Reclaim(db::InputBatch* batch) override;
  void Place(db::InputBatch* batch) override;
  std::vector<int> Upload(db::InputBatch* batch) override;
  bool Decodes(std::string_view file) const override {
    return cropper_ != nullptr && cropper_->Decodes(file);
  }

  // Waits on the host for the copy of the batch. Returns false if it was complete already.
  static bool Await(const db::InputBatch& batch);
  // Output i on the device; null if it stays on the host.
  static const void* OnDevice(const db::InputBatch& batch, size_t i);
  // Allows the copy to be overwritten once the work that is in `stream` now is done.
  static void Release(const db::InputBatch& batch, cuda::Stream stream);

 private:
  const int device_;
  std::unique_ptr<JpegCropper> cropper_;  // null: no batch has files
};

}  // namespace caffe2
