// Internal to quantization: which operators of a float net become Int8 operators, and the net of
// them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "caffe2/core/workspace.h"
#include "caffe2/graph/value_histogram.h"

namespace caffe2 {

// `net`: on the CPU, each blob is written once, and `ws` holds its blobs as a run has left them.
// `ranges`: of float blobs. Adds the quantized parameters to the workspace. The rules are those of
// StaticQuantizer, and so are the errors.
NetDef WriteQuantizedNet(const NetDef& net, const std::vector<std::string>& inputs,
                         const std::map<std::string, ValueRange>& ranges, bool per_channel,
                         Workspace* ws);

}  // namespace caffe2
