// Keeps the gradients of convolution filters in 16 bits.
#pragma once

#include <vector>

#include "caffe2/graph/flat_update.h"

namespace caffe2 {

// Keeps the gradients of filters that have 16-bit copies (AddFilterCopies) in the type of the
// copies, in which the convolutions compute them, instead of converting them to float. They are
// summed over devices and shards in this type, and the update converts them to float as it reads
// them. Splits each arena and its update, and each bucket with gradients of both types, into a part
// for these filters and a part for the rest. With one replica the updated parameters have the same
// bits as without this pass. A gradient that any other operator touches stays float. Returns the
// number of gradients kept in 16 bits. Throws EnforceNotMet if no operator updates an arena.
int KeepFilterGradientsIn16Bit(NetDef* net, std::vector<ParameterArena>* arenas);

}  // namespace caffe2
