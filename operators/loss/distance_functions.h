// Distances and products of pairs of rows, for the host and for devices (host_device.h).
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// The sum of x[j] * y[j].
template <class Team, typename T>
CAFFE2_HOST_DEVICE typename Team::Number ProductSum(Team team, int64_t n, const T* x, const T* y) {
  using Number = typename Team::Number;
  return host_device::SumOver(team, n, [=](int64_t j) {
    return Number(host_device::Widen(x[j])) * host_device::Widen(y[j]);
  });
}

// Each measure of two rows of n elements has these functions, which a team computes:
//   Value(team, n, x, y)                       returns the measure
//   Gradient(team, n, x, y, g, dx, dy)         writes dx and dy, for the gradient g of the measure

struct SquaredL2Distance {  // half of the squared L2 distance
  static constexpr const char* kName = "SquaredL2Distance";
  template <class Team, typename T>
  CAFFE2_HOST_DEVICE static typename Team::Number Value(Team team, int64_t n, const T* x,
                                                        const T* y) {
    using Number = typename Team::Number;
    return host_device::SumOver(team, n,
                                [=](int64_t j) {
                                  const auto difference =
                                      Number(host_device::Widen(x[j])) - host_device::Widen(y[j]);
                                  return difference * difference;
                                }) /
           2;
  }
  template <class Team, typename T>
  CAFFE2_HOST_DEVICE static void Gradient(Team team, int64_t n, const T* x, const T* y, float g,
                                          T* dx, T* dy) {
    host_device::ForEachOf(team, n, [=](int64_t j) {
      const float gradient = g * (host_device::Widen(x[j]) - host_device::Widen(y[j]));
      dx[j] = host_device::Narrow<T>(gradient);
      dy[j] = host_device::Narrow<T>(-gradient);
    });
  }
};

struct L1Distance {
  static constexpr const char* kName = "L1Distance";
  template <class Team, typename T>
  CAFFE2_HOST_DEVICE static typename Team::Number Value(Team team, int64_t n, const T* x,
                                                        const T* y) {
    using Number = typename Team::Number;
    return host_device::SumOver(team, n, [=](int64_t j) {
      return std::fabs(Number(host_device::Widen(x[j])) - host_device::Widen(y[j]));
    });
  }
  template <class Team, typename T>
  CAFFE2_HOST_DEVICE static void Gradient(Team team, int64_t n, const T* x, const T* y, float g,
                                          T* dx, T* dy) {
    host_device::ForEachOf(team, n, [=](int64_t j) {
      const float a = host_device::Widen(x[j]), b = host_device::Widen(y[j]);
      const float gradient = a > b ? g : a < b ? -g : 0.f;
      dx[j] = host_device::Narrow<T>(gradient);
      dy[j] = host_device::Narrow<T>(-gradient);
    });
  }
};

struct DotProduct {
  static constexpr const char* kName = "DotProduct";
  template <class Team, typename T>
  CAFFE2_HOST_DEVICE static typename Team::Number Value(Team team, int64_t n, const T* x,
                                                        const T* y) {
    return ProductSum(team, n, x, y);
  }
  template <class Team, typename T>
  CAFFE2_HOST_DEVICE static void Gradient(Team team, int64_t n, const T* x, const T* y, float g,
                                          T* dx, T* dy) {
    host_device::ForEachOf(team, n, [=](int64_t j) {
      const float a = host_device::Widen(x[j]), b = host_device::Widen(y[j]);
      dx[j] = host_device::Narrow<T>(g * b);
      dy[j] = host_device::Narrow<T>(g * a);
    });
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
    const Number xx = ProductSum(team, n, x, x), yy = ProductSum(team, n, y, y);
    return {ProductSum(team, n, x, y), std::sqrt(xx > kMinSquaredNorm ? xx : kMinSquaredNorm),
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
    host_device::ForEachOf(team, n, [=](int64_t j) {
      const auto a = host_device::Widen(x[j]), b = host_device::Widen(y[j]);
      dx[j] = host_device::Narrow<T>(cross * b - along_x * a);
      dy[j] = host_device::Narrow<T>(cross * a - along_y * b);
    });
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
// The sum of term(offset of element j), and body(offset) for each, for the elements of a vector
// whose first has the offset `first`. Only contiguous vectors gain from vector instructions.
template <class Team, class Term>
CAFFE2_HOST_DEVICE typename Team::Number SumAlong(Team team, const VectorLayout& v, int64_t first,
                                                  const Term& term) {
  if (v.stride == 1) {
    return host_device::SumOver(team, v.n, [=](int64_t j) { return term(first + j); });
  }
  typename Team::Number sum = 0;
  for (int64_t j = team.first(); j < v.n; j += team.step()) sum += term(first + j * v.stride);
  return team.Sum(sum);
}
template <class Team, class Body>
CAFFE2_HOST_DEVICE void ForEachAlong(Team team, const VectorLayout& v, int64_t first,
                                     const Body& body) {
  if (v.stride == 1) {
    host_device::ForEachOf(team, v.n, [=](int64_t j) { body(first + j); });
    return;
  }
  for (int64_t j = team.first(); j < v.n; j += team.step()) body(first + j * v.stride);
}
// Norms of a vector; NormalizeVectors divides by them.
struct L2Norm {
  static constexpr const char* kName = "Normalize";
  template <class Team, typename T>
  CAFFE2_HOST_DEVICE static typename Team::Number Value(Team team, const VectorLayout& v,
                                                        int64_t first, const T* x) {
    using Number = typename Team::Number;
    return OfSquares(SumAlong(team, v, first, [=](int64_t at) {
      const Number value = host_device::Widen(x[at]);
      return value * value;
    }));
  }
  template <typename Number>
  CAFFE2_HOST_DEVICE static Number OfSquares(Number sum) {
    constexpr Number kMinNorm = 1e-12;  // smaller norms count as this
    const Number norm = std::sqrt(sum);
    return norm > kMinNorm ? norm : kMinNorm;
  }
};
struct L1Norm {
  static constexpr const char* kName = "NormalizeL1";
  template <class Team, typename T>
  CAFFE2_HOST_DEVICE static typename Team::Number Value(Team team, const VectorLayout& v,
                                                        int64_t first, const T* x) {
    const auto sum =
        SumAlong(team, v, first, [=](int64_t at) { return std::fabs(host_device::Widen(x[at])); });
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
    const T* const from = x;
    T* const to = y;
    const int64_t first = v.First(i);
    const auto factor = 1 / Norm::Value(team, v, first, x);
    ForEachAlong(team, v, first, [=](int64_t at) {
      to[at] = host_device::Narrow<T>(host_device::Widen(from[at]) * factor);
    });
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
    const T *const values = x, *const gradients = dy;
    T* const to = dx;
    const int64_t first = v.First(i);
    const Number inverse = 1 / L2Norm::Value(team, v, first, x);
    const Number dot = SumAlong(team, v, first, [=](int64_t at) {
      return Number(host_device::Widen(values[at])) * inverse * host_device::Widen(gradients[at]);
    });
    ForEachAlong(team, v, first, [=](int64_t at) {
      const Number y = host_device::Widen(values[at]) * inverse;
      to[at] = host_device::Narrow<T>((host_device::Widen(gradients[at]) - y * dot) * inverse);
    });
  }
};

}  // namespace caffe2
