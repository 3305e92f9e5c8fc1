// Layouts of the tensors of fused batch normalizations, which never store the normalized image.
#pragma once

namespace caffe2 {

// Rows of bn_params, 6 x C, float: the normalization of each channel by the statistics of its
// batch.
enum BnParamsRow {
  kMeanRow,
  kInverseStdRow,  // 1 / sqrt(variance + epsilon)
  kScaleRow,       // gamma
  kBiasRow,        // beta
  kFactorRow,      // scale * inverse_std
  kShiftRow,       // bias - mean * factor
  kBnParamsRows
};
// Rows of d_bn_params, 2 x C, float, which operators pass back instead of a gradient of bn_params:
// the gradients of scale and bias.
enum BnParamsGradientRow { kDScaleRow, kDBiasRow, kBnParamsGradientRows };

}  // namespace caffe2
