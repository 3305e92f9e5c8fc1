// Gradients of filters in float as products of panels (float_panels.h) over patches of the images
// (onednn_conv_matmul.h).
#pragma once

#include "caffe2/utils/onednn_conv_matmul.h"

namespace caffe2::onednn {

// d filter = (d dst)^T patches(src). Each number is a sum over pixels in a fixed order, whatever
// the number of threads.
void PanelFilterGradient(const ImagePatches& patches, const float* images, const float* gradients,
                         float* d_filter);

}  // namespace caffe2::onednn
