// Gradients of filters in 16 bits.
#pragma once

#include <vector>

#include "caffe2/graph/flat_update.h"

namespace caffe2 {

// Leaves the gradients of filters that have 16-bit copies (AddFilterCopies) in the copies' type, as
// the convolutions form them, instead of converting them to float: they are summed over devices and
// shards so, and the update widens them as it reads. Each group is divided into that of those
// filters and the rest, with an update each; buckets of both types are divided, too. Without sums
// over several replicas the parameters keep their bits. Gradients that anything else touches stay
// float. Returns the number of gradients.
int KeepFilterGradientsIn16Bit(NetDef* net, std::vector<ParameterArena>* groups);

}  // namespace caffe2
