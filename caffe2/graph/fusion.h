// Fusion: neighbouring operators become one operator that passes over memory once.
#pragma once

#include <set>
#include <string>

#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

enum class FusionLevel {
  kOff,
  kBatchNorm,  // SpatialBN + Relu -> SpatialBNRelu, SpatialBN + Sum + Relu -> SpatialBNSumRelu
  kAll,        // besides, Conv + Relu -> ConvRelu, Conv + Sum + Relu -> ConvSumRelu,
               // Conv + Sum -> ConvSum
};

// "off", "bn" or "all"; throws EnforceNotMet for another word.
FusionLevel ParseFusionLevel(const std::string& word);

struct FusionOptions {
  FusionLevel level = FusionLevel::kAll;
  // Blobs that are fetched, observed or saved: the fused net still computes them.
  std::set<std::string> keep;
};

// Fuses operators of `net` and returns the number of operators removed. All fused operators have
// gradients: call it on training nets, before the backward pass is added, and on test nets. Results
// differ by rounding at most.
//
// Two operators fuse only if the blob between them has no other reader, is not an external output
// and not in `keep`, both lie on one device for which the fused operator exists, and no operator
// between them touches their blobs. Each refusal is logged with its reason at VLOG(1).
int FuseOperators(NetDef* net, const FusionOptions& options);

}  // namespace caffe2
