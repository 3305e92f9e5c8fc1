// Distances and products of pairs of rows, for the host and for devices (host_device.h).
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// Each measure of two rows of n elements has these functions, which a team computes:
//   Value(team, n, x, y)                       returns the measure
//   Gradient(team, n, x, y, g, dx, dy)         writes dx and dy, for the gradient g of the measure

struct SquaredL2Distance {  // half of the squared L2 distance
  static constexpr const char* kName = "SquaredL2Distance";
  template <class Team, typename T>
  CAFFE2_HOST_DEVICE static typename Team::Number Value(Team team, int64_t n, const T* x,
                                                        const T* y) {
    typename Team::Number sum = 0;
    for (int64_t j = team.first(); j < n; j += team.step()) {
      const auto difference =
          typename Team::Number(host_device::Widen(x[j])) - host_device::Widen(y[j]);
      sum += difference * difference;
    }
    return team.Sum(sum) / 2;
  }
  template <class Team, typename T>
  CAFFE2_HOST_DEVICE static void Gradient(Team team, int64_t n, const T* x, const T* y, float g,
                                          T* dx, T* dy) {
    for (int64_t j = team.first(); j < n; j += team.step()) {
      const float gradient = g * (host_device::Widen(x[j]) - host_device::Widen(y[j]));
      dx[j] = host_device::Narrow<T>(gradient);
      dy[j] = host_device::Narrow<T>(-gradient);
    }
  }
};

struct L1Distance {
  static constexpr const char* kName = "L1Distance";
  template <class Team, typename T>
  CAFFE2_HOST_DEVICE static typename Team::Number Value(Team team, int64_t n, const T* x,
                                                        const T* y) {
    typename Team::Number sum = 0;
    for (int64_t j = team.first(); j < n; j += team.step()) {
      sum += std::fabs(typename Team::Number(host_device::Widen(x[j])) - host_device::Widen(y[j]));
    }
    return team.Sum(sum);
  }
  template <class Team, typename T>
  CAFFE2_HOST_DEVICE static void Gradient(Team team, int64_t n, const T* x, const T* y, float g,
                                          T* dx, T* dy) {
    for (int64_t j = team.first(); j < n; j += team.step()) {
      const float a = host_device::Widen(x[j]), b = host_device::Widen(y[j]);
      const float gradient = a > b ? g : a < b ? -g : 0.f;
      dx[j] = host_device::Narrow<T>(gradient);
      dy[j] = host_device::Narrow<T>(-gradient);
    }
  }
};

struct DotProduct {
  static constexpr const char* kName = "DotProduct";
  template <class Team, typename T>
  CAFFE2_HOST_DEVICE static typename Team::Number Value(Team team, int64_t n, const T* x,
                                                        const T* y) {
    typename Team::Number sum = 0;
    for (int64_t j = team.first(); j < n; j += team.step()) {
      sum += typename Team::Number(host_device::Widen(x[j])) * host_device::Widen(y[j]);
    }
    return team.Sum(sum);
  }
  template <class Team, typename T>
  CAFFE2_HOST_DEVICE static void Gradient(Team team, int64_t n, const T* x, const T* y, float g,
                                          T* dx, T* dy) {
    for (int64_t j = team.first(); j < n; j += team.step()) {
      const float a = host_device::Widen(x[j]), b = host_device::Widen(y[j]);
      dx[j] = host_device::Narrow<T>(g * b);
      dy[j] = host_device::Narrow<T>(g * a);
    }
  }
};

struct CosineSimilarity {
  static constexpr const char* kName = "CosineSimilarity";
  template <typename Number>
  struct Products {
    Number xy, x_norm, y_norm;
  };
  template <class Team, typename T>
  CAFFE2_HOST_DEVICE static Products<typename Team::Number> ProductsOf(Team team, int64_t n,
                                                                       const T* x, const T* y) {
    using Number = typename Team::Number;
    constexpr Number kMinSquaredNorm = 1e-12;  // smaller squared norms count as this
    Number xy = 0, xx = 0, yy = 0;
    for (int64_t j = team.first(); j < n; j += team.step()) {
      const Number a = host_device::Widen(x[j]), b = host_device::Widen(y[j]);
      xy += a * b;
      xx += a * a;
      yy += b * b;
    }
    xx = team.Sum(xx);
    yy = team.Sum(yy);
    return {team.Sum(xy), std::sqrt(xx > kMinSquaredNorm ? xx : kMinSquaredNorm),
            std::sqrt(yy > kMinSquaredNorm ? yy : kMinSquaredNorm)};
  }
  template <class Team, typename T>
  CAFFE2_HOST_DEVICE static typename Team::Number Value(Team team, int64_t n, const T* x,
                                                        const T* y) {
    const auto p = ProductsOf(team, n, x, y);
    return p.xy / (p.x_norm * p.y_norm);
  }
  // d cos / dx = y / (|x| |y|) - cos x / |x|^2, and the same with x and y swapped.
  template <class Team, typename T>
  CAFFE2_HOST_DEVICE static void Gradient(Team team, int64_t n, const T* x, const T* y, float g,
                                          T* dx, T* dy) {
    const auto p = ProductsOf(team, n, x, y);
    const auto cross = g / (p.x_norm * p.y_norm);
    const auto along_x = cross * p.xy / (p.x_norm * p.x_norm);
    const auto along_y = cross * p.xy / (p.y_norm * p.y_norm);
    for (int64_t j = team.first(); j < n; j += team.step()) {
      const auto a = host_device::Widen(x[j]), b = host_device::Widen(y[j]);
      dx[j] = host_device::Narrow<T>(cross * b - along_x * a);
      dy[j] = host_device::Narrow<T>(cross * a - along_y * b);
    }
  }
};

// d[row] = the measure of row `row` of x and y, which have `width` elements.
template <class Measure, typename T>
struct MeasureRows {
  static constexpr const char* kName = Measure::kName;
  int64_t width;
  const T *x, *y;
  T* d;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t row, Team team) const {
    const auto value = Measure::Value(team, width, x + row * width, y + row * width);
    if (team.leader()) d[row] = host_device::Narrow<T>(value);
  }
};
template <class Measure, typename T>
struct MeasureGradientRows {
  static constexpr const char* kName = Measure::kName;
  int64_t width;
  const T *x, *y, *d;
  T *dx, *dy;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t row, Team team) const {
    const int64_t at = row * width;
    Measure::Gradient(team, width, x + at, y + at, host_device::Widen(d[row]), dx + at, dy + at);
  }
};

// The vectors along an axis, for operators that divide each by its norm.
struct VectorLayout {
  int64_t count = 0, n = 0, stride = 0;  // elements of a vector are `stride` apart
  CAFFE2_HOST_DEVICE int64_t First(int64_t i) const { return i / stride * n * stride + i % stride; }
};
// Norms of a vector; NormalizeVectors divides by them.
struct L2Norm {
  static constexpr const char* kName = "Normalize";
  template <class Team, typename T>
  CAFFE2_HOST_DEVICE static typename Team::Number Value(Team team, const VectorLayout& v,
                                                        const T* x) {
    using Number = typename Team::Number;
    constexpr Number kMinNorm = 1e-12;  // smaller norms count as this
    Number squares = 0;
    for (int64_t j = team.first(); j < v.n; j += team.step()) {
      const Number value = host_device::Widen(x[j * v.stride]);
      squares += value * value;
    }
    const Number norm = std::sqrt(team.Sum(squares));
    return norm > kMinNorm ? norm : kMinNorm;
  }
};
struct L1Norm {
  static constexpr const char* kName = "NormalizeL1";
  template <class Team, typename T>
  CAFFE2_HOST_DEVICE static typename Team::Number Value(Team team, const VectorLayout& v,
                                                        const T* x) {
    typename Team::Number sum = 0;
    for (int64_t j = team.first(); j < v.n; j += team.step()) {
      sum += std::fabs(host_device::Widen(x[j * v.stride]));
    }
    sum = team.Sum(sum);
    return sum > 0 ? sum : 1;  // zeros stay zeros
  }
};
template <class Norm, typename T>
struct NormalizeVectors {
  static constexpr const char* kName = Norm::kName;
  VectorLayout v;
  const T* x;
  T* y;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t i, Team team) const {
    const int64_t first = v.First(i);
    const auto factor = 1 / Norm::Value(team, v, x + first);
    for (int64_t j = team.first(); j < v.n; j += team.step()) {
      const int64_t at = first + j * v.stride;
      y[at] = host_device::Narrow<T>(host_device::Widen(x[at]) * factor);
    }
  }
};
// dx = (dy - y (y . dy)) / |x| with y = x / |x|
template <typename T>
struct NormalizeVectorsGradient {
  static constexpr const char* kName = "NormalizeGradient";
  VectorLayout v;
  const T *x, *dy;
  T* dx;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t i, Team team) const {
    using Number = typename Team::Number;
    const int64_t first = v.First(i);
    const Number inverse = 1 / L2Norm::Value(team, v, x + first);
    Number dot = 0;
    for (int64_t j = team.first(); j < v.n; j += team.step()) {
      const int64_t at = first + j * v.stride;
      dot += Number(host_device::Widen(x[at])) * inverse * host_device::Widen(dy[at]);
    }
    dot = team.Sum(dot);
    for (int64_t j = team.first(); j < v.n; j += team.step()) {
      const int64_t at = first + j * v.stride;
      const Number y = host_device::Widen(x[at]) * inverse;
      dx[at] = host_device::Narrow<T>((host_device::Widen(dy[at]) - y * dot) * inverse);
    }
  }
};

}  // namespace caffe2
