// What the tests of operators on lengths share.
#pragma once

#include <string>

#include "tests/operators/op_test.h"

namespace caffe2::testing {

class LengthsTest : public ::testing::Test {
 protected:
  void SetUp() override { Feed<int32_t>(&ws, "lengths", {4}, {1, 3, 0, 2}); }
  void ExpectInts(const std::string& name, const Shape& dims, const Ints& values) {
    EXPECT_EQ(Fetch(ws, name).sizes(), dims) << name;
    EXPECT_EQ(FetchValues<int32_t>(ws, name), values) << name;
  }
  Workspace ws;
};

}  // namespace caffe2::testing
