// Which of the fusions that a pass could make are worth making, as data.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// Some operators of a net, and the fused ones that would compute the same blobs.
struct FusionCandidate {
  // "NormReluConvStats gpu_0/conv2": the type of the last fused operator and its first output. No
  // other candidate of the net has it.
  std::string name;
  const NetDef* net = nullptr;  // the whole net, before this fusion
  NetDef plain, fused;          // the operators alone
  // Blobs that the rest of the net reads from here. Their gradients come from there.
  std::vector<std::string> results;
};

// True to fuse, false to leave it, nothing if that is not known.
using ChooseFusion = std::function<std::optional<bool>(const FusionCandidate& candidate)>;

// Answers by name of the candidate; nothing is known about a name that is not there.
using FusionChoices = std::map<std::string, bool>;

}  // namespace caffe2
