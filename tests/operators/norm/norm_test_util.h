// What the tests of normalizations share.
#pragma once

#include <functional>
#include <string>

#include "tests/operators/op_test.h"

namespace caffe2::testing {

// Visits [n, c, size] elements of a tensor in either order: element i of channel c of image n.
inline int64_t ElementAt(bool nhwc, int64_t channels, int64_t size, int64_t n, int64_t c,
                         int64_t i) {
  return nhwc ? (n * size + i) * channels + c : (n * channels + c) * size + i;
}

inline Argument OrderArgument(bool nhwc) {
  return MakeArgument<std::string>("order", nhwc ? "NHWC" : "NCHW");
}

struct Moments {
  double mean = 0, variance = 0;
};

inline Moments MomentsOf(int64_t n, const std::function<double(int64_t)>& value) {
  Moments m;
  for (int64_t i = 0; i < n; ++i) m.mean += value(i) / static_cast<double>(n);
  for (int64_t i = 0; i < n; ++i) {
    m.variance += (value(i) - m.mean) * (value(i) - m.mean) / static_cast<double>(n);
  }
  return m;
}

}  // namespace caffe2::testing
