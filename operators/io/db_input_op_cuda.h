// The input operators of CUDA devices.
#pragma once

#include <optional>

#include "caffe2/cuda/context_cuda.h"
#include "operators/io/db_input_op.h"

namespace caffe2 {

// The copy stream copies batches into memory of their own before they are used. The compute stream
// then moves them to the outputs, with the kernel that normalizes images or with a copy. Outputs
// therefore keep their addresses, as graphs of the net need (caffe2/cuda/graph_net.cc).
class CudaDBInputOp final : public DBInputOp<CUDAContext> {
 public:
  CudaDBInputOp(const OperatorDef& def, Workspace* ws);
  bool RunOnDevice() override;

 private:
  const std::optional<db::DeviceNormalization>& normalization() const {
    return pipeline_options().normalization;
  }
  bool is_resident() const { return pipeline_options().load_images != nullptr; }
  // Decodes the images of the reader and copies them to the device, unless they are there already.
  void LoadImages();
  // Waits for the copy on the host, so that this time counts as waiting for input.
  void Await(const db::InputBatch& batch);
  void WriteOutputs(const db::InputBatch& batch);
  void WriteOutput(const db::InputBatch& batch, int i);
  void NormalizeImages(const db::InputBatch& batch);
  template <typename Pixel>
  void NormalizePixels(const db::InputBatch& batch, Tensor* output);
  template <typename Pixel, typename T>
  void Launch(const db::InputBatch& batch, Tensor* output);

  std::optional<db::DBReader> loaded_;  // the reader of the images
  Tensor images_;                       // uint8 {N, side, side, channels}
};

}  // namespace caffe2
