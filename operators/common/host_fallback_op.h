// A CUDA operator that runs the CPU operator of the same type.
#pragma once

#include <memory>

#include "caffe2/core/operator.h"
#include "caffe2/core/workspace.h"
#include "caffe2/cuda/context_cuda.h"

namespace caffe2 {

// Copies the inputs, which must be tensors, to the host, runs the CPU operator there, and copies
// its outputs to the device. For operators that run once (initialization) or rarely. Random
// operators draw the same numbers as on the CPU.
class HostFallbackOp final : public Operator<CUDAContext> {
 public:
  HostFallbackOp(const OperatorDef& def, Workspace* ws);
  bool RunOnDevice() override;

 private:
  Workspace host_;
  std::unique_ptr<OperatorBase> op_;
};

}  // namespace caffe2
