// The folder of real data for tests that need some.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace caffe2::testing {

// A path below the folder that CAFFE2_TEST_DATA names; "" if the variable is not set.
inline std::string DataPath(const std::string& relative) {
  const char* root = std::getenv("CAFFE2_TEST_DATA");
  return root == nullptr ? "" : std::string(root) + "/" + relative;
}
#define REQUIRE_TEST_DATA() \
  if (::caffe2::testing::DataPath("").empty()) GTEST_SKIP() << "CAFFE2_TEST_DATA is not set"

}  // namespace caffe2::testing
