// What the tests of matrix products share.
#pragma once

#include <vector>

#include "tests/operators/op_test.h"

namespace caffe2::testing {

inline std::vector<float> MatMulReference(int64_t m, int64_t n, int64_t k, const float* a,
                                          const float* b, bool trans_a, bool trans_b) {
  std::vector<float> y;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l) {
        sum += static_cast<double>(trans_a ? a[l * m + i] : a[i * k + l]) *
               (trans_b ? b[j * k + l] : b[l * n + j]);
      }
      y.push_back(static_cast<float>(sum));
    }
  }
  return y;
}

inline std::vector<Argument> Transposition(bool a, bool b) {
  return {MakeArgument<int>("trans_a", a), MakeArgument<int>("trans_b", b)};
}

class TransposedTest : public ::testing::TestWithParam<std::tuple<bool, bool, int>> {};

}  // namespace caffe2::testing
