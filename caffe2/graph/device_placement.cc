#include "caffe2/graph/device_placement.h"

namespace caffe2 {
namespace {

void SetDevice(const Device& device, DeviceOption* option) {
  option->set_device_type(device.type);
  if (device.type == CPU)
    option->clear_device_id();
  else
    option->set_device_id(device.id);
}

}  // namespace

void PlaceOnDevice(NetDef* net, const Device& device) {
  SetDevice(device, net->mutable_device_option());
  for (OperatorDef& op : *net->mutable_op()) {
    // An operator without an option of its own follows the net.
    if (op.has_device_option()) SetDevice(device, op.mutable_device_option());
    for (Argument& argument : *op.mutable_arg()) {
      if (argument.has_n()) PlaceOnDevice(argument.mutable_n(), device);
      for (NetDef& nested : *argument.mutable_nets()) PlaceOnDevice(&nested, device);
    }
  }
}

}  // namespace caffe2
