// What the tests of activation operators share.
#pragma once

#include <cmath>
#include <vector>

#include "tests/operators/op_test.h"

namespace caffe2::testing {

inline std::vector<float> SoftmaxReference(int64_t rows, int64_t d, const std::vector<float>& x) {
  std::vector<float> y;
  for (int64_t i = 0; i < rows; ++i) {
    long double sum = 0;
    for (int64_t j = 0; j < d; ++j) sum += std::exp(static_cast<long double>(x[i * d + j]));
    for (int64_t j = 0; j < d; ++j) {
      y.push_back(static_cast<float>(std::exp(static_cast<long double>(x[i * d + j])) / sum));
    }
  }
  return y;
}

}  // namespace caffe2::testing
