// Moves a net to a device other than the one in its file.
#pragma once

#include "caffe2/core/device.h"
#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// Sets the device of the net, of each operator that names a device, and of the subnets in
// operators' arguments to `device`. Keeps random seeds.
void PlaceOnDevice(NetDef* net, const Device& device);

}  // namespace caffe2
