#include "caffe2/graph/device_placement.h"

#include <gtest/gtest.h>

namespace caffe2 {
namespace {

// A net on a GPU, whose operator names another kind of device.
NetDef OneOperator() {
  NetDef net;
  net.mutable_device_option()->set_device_type(CUDA);
  net.mutable_device_option()->set_device_id(3);
  OperatorDef* op = net.add_op();
  op->set_type("Relu");
  op->mutable_device_option()->set_device_type(HIP);
  return net;
}

TEST(PlaceOnDeviceTest, OverridesEveryOptionAndKeepsSeeds) {
  NetDef net = OneOperator();
  net.mutable_op(0)->mutable_device_option()->set_random_seed(5);
  *net.mutable_op(0)->add_arg()->mutable_n() = OneOperator();
  PlaceOnDevice(&net, Device{});
  EXPECT_EQ(net.device_option().device_type(), CPU);
  EXPECT_FALSE(net.device_option().has_device_id());
  EXPECT_EQ(net.op(0).device_option().device_type(), CPU);
  EXPECT_EQ(net.op(0).device_option().random_seed(), 5u);
  EXPECT_EQ(net.op(0).arg(0).n().op(0).device_option().device_type(), CPU);
  PlaceOnDevice(&net, Device{CUDA, 2});
  EXPECT_EQ(net.op(0).device_option().device_type(), CUDA);
  EXPECT_EQ(net.op(0).device_option().device_id(), 2);
}

}  // namespace
}  // namespace caffe2
