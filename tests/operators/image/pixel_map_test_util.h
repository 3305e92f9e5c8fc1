// What the tests of PadImage and ResizeNearest share.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/operators/image/image_reference.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {

inline std::vector<Argument> InOrder(bool nhwc, std::vector<Argument> args) {
  args.push_back(MakeArgument<std::string>("order", OrderName(nhwc)));
  return args;
}

class PixelMapTest : public ::testing::TestWithParam<bool> {
 protected:
  const bool nhwc_ = GetParam();
  Workspace ws_;
};

}  // namespace caffe2::testing
