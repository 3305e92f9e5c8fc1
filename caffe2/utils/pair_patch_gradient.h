// Gradients of filters in bfloat16 as products of pairs (bfloat16_pairs.h) over patches of the
// images (onednn_conv_matmul.h).
#pragma once

#include "caffe2/utils/onednn_conv_matmul.h"

namespace caffe2::onednn {

// d filter = (d dst)^T patches(src). Each number is a sum over pixels in a fixed order, whatever
// the number of threads.
void PairPatchGradient(const ImagePatches& patches, const bfloat16* images,
                       const bfloat16* gradients, float* d_filter);

}  // namespace caffe2::onednn
