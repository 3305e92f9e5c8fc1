// Moves a net to another device than the one its file names.
#pragma once

#include "caffe2/core/device.h"
#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// Makes `device` the device of the net, of all its operators and of the nets in their arguments,
// whatever they named before. Random seeds are kept.
void PlaceOnDevice(NetDef* net, const Device& device);

}  // namespace caffe2
