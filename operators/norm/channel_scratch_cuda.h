// Scratch memory for the functions of channel_kernels.h on CUDA devices.
#pragma once

#include "caffe2/cuda/context_cuda.h"
#include "operators/common/channel_kernels.h"
#include "operators/norm/spatial_bn_kernels.h"

namespace caffe2 {

// Gives `scratch` the size that the functions of channel_kernels.h need. Returns its data.
inline float* ResizeScratch(const ChannelShape& shape, Tensor* scratch) {
  scratch->Resize(BatchNormScratch(shape));
  return scratch->mutable_data<float>();
}

}  // namespace caffe2
