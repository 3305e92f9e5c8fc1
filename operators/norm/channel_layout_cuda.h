// Conversions for the functions of channel_kernels.h on CUDA devices.
#pragma once

#include "caffe2/cuda/context_cuda.h"
#include "operators/common/channel_kernels.h"
#include "operators/norm/spatial_bn_kernels.h"

namespace caffe2 {

inline ChannelLayout LayoutOf(const ChannelShape& shape) {
  return {shape.batch, shape.channels, shape.spatial, shape.channels_last};
}

// Gives `scratch` the size that the functions of channel_kernels.h need. Returns its data.
inline float* ResizeScratch(const ChannelLayout& layout, Tensor* scratch) {
  scratch->Resize(BatchNormScratch(layout));
  return scratch->mutable_data<float>();
}

}  // namespace caffe2
