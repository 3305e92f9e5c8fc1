// Fusion of convolutions with the batch normalization around them, for training on devices that
// have engines for it.
#pragma once

#include <set>
#include <string>

#include "caffe2/graph/form_choice.h"
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
// With `choose` every place of every rewriting is asked for, one after another in the order of the
// levels, shortcuts before ends of blocks; `fusion` says what happens to those for which no answer
// is known.
int FuseConvolutionsWithNorms(NetDef* net, ConvNormFusion fusion,
                              const std::set<std::string>& keep = {},
                              const ChooseForm& choose = nullptr);

}  // namespace caffe2
