// Batches of input on their way to a CUDA device.
#pragma once

#include <memory>
#include <vector>

#include "caffe2/cuda/runtime.h"
#include "db/batch_pipeline.h"

namespace caffe2 {

// Has batches decoded into page-locked memory, and copies each, once it is whole, to memory of the
// device that belongs to the batch, on the copy stream of the device. So the copy goes on beside
// the iteration before, and the memory of the outputs of the net need not change from run to run.
// Elements that are no plain bytes stay on the host.
class CudaBatchUploader final : public db::BatchUploader {
 public:
  explicit CudaBatchUploader(int device) : device_(device) {}

  void Reclaim(db::InputBatch* batch) override;
  void Place(db::InputBatch* batch) override;
  void Upload(db::InputBatch* batch) override;

  // Waits until the copy of the batch is there, for any stream. False if it was already.
  static bool Await(const db::InputBatch& batch);
  // Output i on the device; null for one that stays on the host.
  static const void* OnDevice(const db::InputBatch& batch, size_t i);
  // The copy may be overwritten when what `stream` holds now is done.
  static void Release(const db::InputBatch& batch, cuda::Stream stream);

 private:
  const int device_;
};

}  // namespace caffe2
