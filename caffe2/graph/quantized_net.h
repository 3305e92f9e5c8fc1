// Internal to quantization: chooses the operators of a float net that become Int8 operators, and
// writes the net with them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "caffe2/graph/value_histogram.h"
#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

class Workspace;

// Quantizes `net` by the rules of StaticQuantizer, and throws what Finish throws. `net` runs on the
// CPU and writes each blob once. `ws` holds the blobs of a finished run and gets the quantized
// parameters. `ranges` has the range of each float blob that is quantized.
NetDef WriteQuantizedNet(const NetDef& net, const std::vector<std::string>& inputs,
                         const std::map<std::string, ValueRange>& ranges, bool per_channel,
                         Workspace* ws);

}  // namespace caffe2
