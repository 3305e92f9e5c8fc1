#include "caffe2/utils/onednn_matmul.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "caffe2/core/half.h"
#include "caffe2/core/random.h"

namespace caffe2 {
namespace {

// Numbers that bfloat16 holds exactly.
template <typename T>
std::vector<T> RandomMatrix(int64_t n, uint64_t seed) {
  RandomGenerator random(seed);
  std::vector<T> numbers(n);
  for (T& x : numbers) {
    const bfloat16 narrow = ToBFloat16(random.Uniform() - 0.5f);
    if constexpr (std::is_same_v<T, bfloat16>) {
      x = narrow;
    } else {
      x = ToFloat(narrow);
    }
  }
  return numbers;
}

double Wide(float x) { return x; }
double Wide(bfloat16 x) { return ToFloat(x); }

// Multiplies by b, whose elements are at least k x n, and compares with sums in double.
template <typename T>
void ExpectProduct(PackedFactor* factor, MatMulProblem p, const std::vector<T>& b) {
  SCOPED_TRACE(::testing::Message()
               << p.m << " x " << p.k << " x " << p.n << ", transposed " << p.trans_b);
  p.has_bias = true;
  p.type = std::is_same_v<T, float> ? MatMulType::kFloat : MatMulType::kBFloat16;
  const std::vector<T> a = RandomMatrix<T>(p.m * p.k, 1), bias = RandomMatrix<T>(p.n, 2);
  std::vector<T> c(p.m * p.n);
  factor->Multiply(p, a.data(), b.data(), bias.data(), c.data());
  double error = 0;
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      double sum = Wide(bias[j]);
      for (int64_t l = 0; l < p.k; ++l) {
        sum += Wide(a[i * p.k + l]) * Wide(b[p.trans_b ? j * p.k + l : l * p.n + j]);
      }
      const double rounding = std::is_same_v<T, float> ? 1e-4 : 0.01 * (std::abs(sum) + 1);
      error = std::max(error, std::abs(Wide(c[i * p.n + j]) - sum) / rounding);
    }
  }
  EXPECT_LT(error, 1);
}

template <typename T>
void ExpectProductsOfAllKinds() {
  const std::vector<T> first = RandomMatrix<T>(150 * 70, 3), second = RandomMatrix<T>(150 * 70, 4);
  PackedFactor factor;
  for (const bool transposed : {true, false}) {
    for (const int64_t m : {8, 1, 33, 8}) {
      ExpectProduct(&factor, {.m = m, .n = 70, .k = 150, .trans_b = transposed}, first);
    }
    // Other matrices at one address, and one matrix after another.
    ExpectProduct(&factor, {.m = 8, .n = 150, .k = 70, .trans_b = transposed}, first);
    ExpectProduct(&factor, {.m = 8, .n = 150, .k = 70, .trans_b = transposed}, second);
    ExpectProduct(&factor, {.m = 8, .n = 150, .k = 70, .trans_b = transposed}, first);
    ExpectProduct(&factor, {.m = 8, .n = 150, .k = 70, .trans_b = !transposed}, first);
  }
}

TEST(PackedFactorTest, ProductsAreThoseOfTheMatrixThatIsGiven) {
  ExpectProductsOfAllKinds<float>();
  ExpectProductsOfAllKinds<bfloat16>();
}

}  // namespace
}  // namespace caffe2
