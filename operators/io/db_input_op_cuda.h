// The input operators of CUDA devices.
#pragma once

#include "caffe2/cuda/context_cuda.h"
#include "operators/io/db_input_op.h"

namespace caffe2 {

// Batches come over the copy stream, ahead of their use, into memory of their own; from there they
// go to the outputs on the compute stream: by the kernel that normalizes images, else by a copy. So
// the outputs keep their addresses, which graphs of the net (caffe2/cuda/graph_net.cc) rely on.
class CudaDBInputOp final : public DBInputOp<CUDAContext> {
 public:
  CudaDBInputOp(const OperatorDef& def, Workspace* ws);
  bool RunOnDevice() override;

 private:
  // On the host, so that the time counts as waiting for input.
  void Await(const db::InputBatch& batch);
  void PutOut(const db::InputBatch& batch);
  void PutOut(const db::InputBatch& batch, int i);
  void NormalizeImages(const db::InputBatch& batch);
  template <typename Pixel>
  void NormalizePixels(const db::InputBatch& batch, Tensor* output);
  template <typename Pixel, typename T>
  void Launch(const db::InputBatch& batch, Tensor* output);
};

}  // namespace caffe2
