#include "caffe2/utils/vector_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace caffe2 {
namespace {

using Row = void(int64_t n, const float* x, float* y);

CAFFE2_SIMD_CLONES void ExpRow(int64_t n, const float* x, float* y) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = Exp(x[i]);
}
CAFFE2_SIMD_CLONES void Expm1Row(int64_t n, const float* x, float* y) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = Expm1(x[i]);
}
CAFFE2_SIMD_CLONES void LogRow(int64_t n, const float* x, float* y) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = Log(x[i]);
}
CAFFE2_SIMD_CLONES void Log1pRow(int64_t n, const float* x, float* y) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = Log1p(x[i]);
}
CAFFE2_SIMD_CLONES void TanhRow(int64_t n, const float* x, float* y) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = Tanh(x[i]);
}
CAFFE2_SIMD_CLONES void ErfRow(int64_t n, const float* x, float* y) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = Erf(x[i]);
}
CAFFE2_SIMD_CLONES void SinRow(int64_t n, const float* x, float* y) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = Sin(x[i]);
}
CAFFE2_SIMD_CLONES void CosRow(int64_t n, const float* x, float* y) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = Cos(x[i]);
}
CAFFE2_SIMD_CLONES void TanRow(int64_t n, const float* x, float* y) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = Tan(x[i]);
}
CAFFE2_SIMD_CLONES void AtanRow(int64_t n, const float* x, float* y) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = Atan(x[i]);
}
CAFFE2_SIMD_CLONES void CbrtRow(int64_t n, const float* x, float* y) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = Cbrt(x[i]);
}

CAFFE2_SIMD_CLONES void LogOfPartRow(int64_t n, const double* x, double* y) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = LogOfPart(x[i]);
}
CAFFE2_SIMD_CLONES void CosOfTurnRow(int64_t n, const double* x, double* y) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = CosOfTurn(x[i]);
}

struct Function {
  const char* name;
  Row* row;
  double (*reference)(double);
  double ulps;             // units in the last place
  float bound = INFINITY;  // of the magnitudes for which it holds
};
const Function kFunctions[] = {{"Exp", ExpRow, std::exp, 2},
                               {"Expm1", Expm1Row, std::expm1, 2},
                               {"Log", LogRow, std::log, 1},
                               {"Log1p", Log1pRow, std::log1p, 2},
                               {"Tanh", TanhRow, std::tanh, 3},
                               {"Erf", ErfRow, std::erf, 2},
                               {"Sin", SinRow, std::sin, 1, kMaxAngle},
                               {"Cos", CosRow, std::cos, 1, kMaxAngle},
                               {"Tan", TanRow, std::tan, 1, kMaxAngle},
                               {"Atan", AtanRow, std::atan, 2},
                               {"Cbrt", CbrtRow, std::cbrt, 1}};

class VectorMathTest : public ::testing::TestWithParam<Function> {};

// How far y is from the exact value, in units in the last place of its float.
double UlpsFrom(double exact, float y) {
  const auto rounded = static_cast<float>(exact);
  if (std::isnan(exact)) return std::isnan(y) ? 0 : INFINITY;
  if (!std::isfinite(rounded) || !std::isfinite(y)) return rounded == y ? 0 : INFINITY;
  const int exponent = rounded == 0 ? -149 : std::max(-149, std::ilogb(rounded) - 23);
  return std::fabs(y - exact) / std::ldexp(1., exponent);
}

// Every 4099th float, and with them infinities, zeros, numbers below the normal ones and NaN.
TEST_P(VectorMathTest, IsWithinItsUnitsOfEveryFloat) {
  const Function& f = GetParam();
  std::vector<float> x{0.f, -0.f, INFINITY, -INFINITY, NAN, 1e-40f, -1e-40f, 1.f, -1.f};
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 4099) {
    x.push_back(__builtin_bit_cast(float, static_cast<uint32_t>(bits)));
  }
  std::vector<float> y(x.size());
  f.row(static_cast<int64_t>(x.size()), x.data(), y.data());
  double worst = 0, at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::fabs(x[i]) >= f.bound && f.bound < INFINITY) continue;
    const double ulps = UlpsFrom(f.reference(x[i]), y[i]);
    if (ulps > worst) worst = ulps, at = x[i];
  }
  EXPECT_LE(worst, f.ulps) << "at " << at;
}

INSTANTIATE_TEST_SUITE_P(All, VectorMathTest, ::testing::ValuesIn(kFunctions),
                         [](const auto& info) { return info.param.name; });

// For the functions of double: `exact` is computed as long double.
double UlpsFrom(long double exact, double y) {
  if (exact == 0 || y == 0) return exact == y ? 0 : INFINITY;
  return static_cast<double>(std::fabs(y - exact) / std::ldexp(1.L, std::ilogb(exact) - 52));
}

// 2^-j k / 2^12 for j up to 60, so from 2^-60 to 1, and their distances from 1.
TEST(LogOfPartTest, IsWithinItsUnits) {
  std::vector<double> x;
  for (int j = 0; j <= 60; ++j) {
    for (int k = 2048; k <= 4096; ++k) {
      x.push_back(std::ldexp(k, -12 - j));
      if (x.back() < 1) x.push_back(1 - x.back());
    }
  }
  std::vector<double> y(x.size());
  LogOfPartRow(static_cast<int64_t>(x.size()), x.data(), y.data());
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_LE(UlpsFrom(std::log(static_cast<long double>(x[i])), y[i]), 3) << "at " << x[i];
  }
}

// The cosine of 2 pi part, from the nearest quarter of a turn: the angles are less than pi / 4.
long double ExactCosOfTurn(double part) {
  const double quadrant = std::nearbyint(4 * part);
  const long double r = (4 * part - quadrant) * (std::numbers::pi_v<long double> / 2);
  switch (static_cast<int64_t>(quadrant) & 3) {
    case 0:
      return std::cos(r);
    case 1:
      return -std::sin(r);
    case 2:
      return -std::cos(r);
    default:
      return std::sin(r);
  }
}

// Parts in [-4, 4], and parts near all quarters of a turn.
TEST(CosOfTurnTest, IsWithinItsUnits) {
  std::vector<double> part;
  for (int k = -40000; k <= 40000; ++k) part.push_back(k * 1e-4);
  for (int quarter = -16; quarter <= 16; ++quarter) {
    for (int j = 0; j <= 52; ++j) {
      part.push_back(quarter / 4. + std::ldexp(1., -j));
      part.push_back(quarter / 4. - std::ldexp(1., -j));
    }
  }
  std::vector<double> y(part.size());
  CosOfTurnRow(static_cast<int64_t>(part.size()), part.data(), y.data());
  for (size_t i = 0; i < part.size(); ++i) {
    EXPECT_LE(UlpsFrom(ExactCosOfTurn(part[i]), y[i]), 11) << "at " << part[i];
  }
}

}  // namespace
}  // namespace caffe2
