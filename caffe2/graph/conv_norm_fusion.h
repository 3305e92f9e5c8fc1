// Fusion of convolutions with the batch normalization around them, for training on devices that
// have engines for it.
#pragma once

#include <set>
#include <string>

#include "caffe2/graph/fusion_choice.h"
#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

enum class ConvNormFusion {
  kNone,
  // Conv + SpatialBN, SpatialBNRelu or SpatialBNSumRelu -> ConvStats + the same with the sums
  // given: no pass over memory for the statistics. SpatialBN of a shortcut and the SpatialBNSumRelu
  // that adds it -> two SpatialBNFinalize + NormSumNormRelu.
  kStats,
  // Besides, SpatialBNRelu + ConvStats -> SpatialBNFinalize + NormReluConvStats: the normalized
  // image is nowhere in memory. The backward pass masks and sums as it forms input gradients.
  kPrologue,
  // Besides, SpatialBNSumRelu + ConvStats (1x1, stride 1) -> SpatialBNFinalize +
  // NormSumReluConvStats, and NormSumNormRelu + ConvStats (likewise) -> NormSumNormReluConvStats:
  // the end of a residual block is written by the first convolution of the next one.
  kResidual,
};

// "none", "stats", "prologue" or "residual"; throws EnforceNotMet for another word.
ConvNormFusion ParseConvNormFusion(const std::string& word);

// What is a gain on a device: prologues for float16, statistics for bfloat16 in NHWC on CUDA
// devices, else nothing.
ConvNormFusion ChooseConvNormFusion(DeviceType device, const std::string& order,
                                    TensorProto::DataType type);

// Rewrites `net`, which FuseOperators has been through, before its backward pass. Returns the
// number of convolutions it changed. What is rewritten computes the same but for rounding; blobs in
// `keep` stay. Each refusal is logged with its reason at VLOG(1).
//
// With `choose` the pass asks about every candidate of every level, one level after another,
// shortcuts before ends of blocks: what was fused decides which candidates come later. Where
// `choose` knows no answer, `fusion` decides.
int FuseConvolutionsWithNorms(NetDef* net, ConvNormFusion fusion,
                              const std::set<std::string>& keep = {},
                              const ChooseFusion& choose = nullptr);

}  // namespace caffe2
