// How the blobs of normalizations that are nowhere in memory are laid out.
#pragma once

namespace caffe2 {

// Rows of the blob `norm`, 6 x C, float: how a channel is normalized, by its batch's statistics.
enum NormRow {
  kMeanRow,
  kInverseStdRow,  // 1 / sqrt(variance + epsilon)
  kScaleRow,       // gamma
  kBiasRow,        // beta
  kFactorRow,      // scale * inverse_std
  kShiftRow,       // bias - mean * factor
  kNormRows
};
// Rows of what stands for its gradient, 2 x C, float: the gradients of scale and bias.
enum NormGradientRow { kDScaleRow, kDBiasRow, kNormGradientRows };

}  // namespace caffe2
