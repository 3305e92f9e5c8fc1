// Gradients of filters as products of tiles (filter_tiles.h) over patches of the images
// (onednn_conv_matmul.h).
#pragma once

#include "caffe2/utils/onednn_conv_matmul.h"

namespace caffe2::onednn {

// d filter = (d dst)^T patches(src), for images of float or bfloat16, at least one patch. Each
// number is a sum over pixels in a fixed order, whatever the number of threads. Pixels outside the
// images are zeros that are multiplied, too: an infinite gradient beside them makes NaN.
template <typename T>
void TiledFilterGradient(const ImagePatches& patches, const T* images, const T* gradients,
                         float* d_filter);

}  // namespace caffe2::onednn
