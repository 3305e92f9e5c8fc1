// The names by which the net of a Do operator sees blobs of the enclosing workspace.
#pragma once

#include <string>
#include <unordered_map>

#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// Reads the arguments inner_blobs and outer_blobs_idx of a Do operator. Returns inner name -> outer
// name. An index counts the inputs, then the outputs that are not inputs. The last input and the
// last output, the scope, do not count. Throws EnforceNotMet unless every outer blob is bound to
// exactly one inner name.
std::unordered_map<std::string, std::string> ReadDoBindings(const OperatorDef& def);

}  // namespace caffe2
