// Fuses convolutions with the batch normalizations before and after them, for training on devices
// that have engines for it.
#pragma once

#include <set>
#include <string>

#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// Each level includes the one before it.
enum class ConvNormFusion {
  kNone,
  // Conv + SpatialBN, SpatialBNRelu or SpatialBNSumRelu -> ConvStats, which also sums each channel,
  // + the same operator with these sums as inputs: in float16 the statistics cost no pass over
  // memory. The SpatialBN of a shortcut and the SpatialBNSumRelu that adds it -> two
  // SpatialBNFinalize + NormSumNormRelu.
  kStats,
  // SpatialBNRelu + ConvStats -> SpatialBNFinalize + NormReluConvStats: the normalized image is
  // never written to memory. The backward pass applies the mask and forms the sums while it
  // computes input gradients.
  kPrologue,
  // SpatialBNSumRelu + ConvStats (1x1, stride 1) -> SpatialBNFinalize + NormSumReluConvStats, and
  // NormSumNormRelu + ConvStats (1x1, stride 1) -> NormSumNormReluConvStats: the first convolution
  // of a residual block writes the output of the block before it.
  kResidual,
};

// "none", "stats", "prologue" or "residual"; throws EnforceNotMet for another word.
ConvNormFusion ParseConvNormFusion(const std::string& word);

// The level that is fastest on a device for activations of this order and type: for NHWC on CUDA
// devices kResidual for float16 and kStats for bfloat16, otherwise kNone.
ConvNormFusion ChooseConvNormFusion(DeviceType device, const std::string& order,
                                    TensorProto::DataType type);

// Rewrites `net`. Call it after FuseOperators and before the backward pass is added. Results differ
// by rounding at most; blobs in `keep` stay. Logs each refusal with its reason at VLOG(1). Returns
// the number of convolutions that became ConvStats.
int FuseConvolutionsWithNorms(NetDef* net, ConvNormFusion fusion,
                              const std::set<std::string>& keep = {});

}  // namespace caffe2
