// The decision whether to fuse, for each fusion candidate, as data.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// Some operators of a net, and the fused operators that would compute the same blobs.
struct FusionCandidate {
  // The type of the last fused operator and its first output, "NormReluConvStats gpu_0/conv2".
  // Unique in a net.
  std::string name;
  const NetDef* net = nullptr;  // the whole net, before this fusion
  NetDef plain, fused;          // only the operators concerned, before and after
  // Blobs of these operators that the rest of the net reads. The rest gives their gradients.
  std::vector<std::string> results;
};

// Returns true to fuse, false not to, nothing if it does not know.
using ChooseFusion = std::function<std::optional<bool>(const FusionCandidate& candidate)>;

// Answers by name of the candidate. A missing name means that nothing is known.
using FusionChoices = std::map<std::string, bool>;

}  // namespace caffe2
