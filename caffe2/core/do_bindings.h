// The names under which the net of a Do operator knows the blobs around it.
#pragma once

#include <string>
#include <unordered_map>

#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// Reads the arguments inner_blobs and outer_blobs_idx of a Do operator: inner name -> outer name.
// An index counts the inputs, then the outputs that are no inputs, both without the scope (the last
// input and output). Throws EnforceNotMet unless every outer blob is bound to one inner name.
std::unordered_map<std::string, std::string> ReadDoBindings(const OperatorDef& def);

}  // namespace caffe2
