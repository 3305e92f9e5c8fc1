// RMSNorm and its gradients, for the host and for devices (host_device.h).
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// The type of sums over T: double for double, else the team's type of sums.
template <typename T, class Team>
using SumType = std::conditional_t<std::is_same_v<T, double>, double, typename Team::Number>;
// The type that T is widened to.
template <typename T>
using WideType = decltype(host_device::Widen(T{}));

// rrms = 1 / sqrt(mean(x^2) + eps) of each row, y = x rrms gamma + beta
template <typename T>
struct RmsNormRows {
  static constexpr const char* kName = "RMSNorm";
  int64_t size;
  float eps;
  const T *x, *gamma, *beta;
  T* y;
  WideType<T>* rrms;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t row, Team team) const {
    using Number = SumType<T, Team>;
    const int64_t first = row * size;
    Number squares = 0;
    for (int64_t j = team.first(); j < size; j += team.step()) {
      const Number value = host_device::Widen(x[first + j]);
      squares += value * value;
    }
    const auto count = static_cast<Number>(size > 0 ? size : 1);
    const Number inverse = 1 / std::sqrt(team.Sum(squares) / count + static_cast<Number>(eps));
    const auto factor = static_cast<WideType<T>>(inverse);
    if (team.leader()) rrms[row] = factor;
    for (int64_t j = team.first(); j < size; j += team.step()) {
      const auto value = host_device::Widen(x[first + j]) * factor * host_device::Widen(gamma[j]);
      y[first + j] = host_device::Narrow<T>(value + host_device::Widen(beta[j]));
    }
  }
};

// dx = r gamma dy - r^3 x mean(gamma dy x)
template <typename T>
struct RmsNormGradientRows {
  static constexpr const char* kName = "RMSNormGradient";
  int64_t size;
  const T *dy, *x, *gamma;
  const WideType<T>* rrms;
  T* dx;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t row, Team team) const {
    using Number = SumType<T, Team>;
    const int64_t first = row * size;
    Number dot = 0;
    for (int64_t j = team.first(); j < size; j += team.step()) {
      dot += static_cast<Number>(host_device::Widen(gamma[j])) * host_device::Widen(dy[first + j]) *
             host_device::Widen(x[first + j]);
    }
    const Number r = rrms[row];
    const Number factor = r * r * r * team.Sum(dot) / static_cast<Number>(size);
    for (int64_t j = team.first(); j < size; j += team.step()) {
      const Number gradient = r * host_device::Widen(gamma[j]) * host_device::Widen(dy[first + j]) -
                              factor * host_device::Widen(x[first + j]);
      dx[first + j] = host_device::Narrow<T>(static_cast<WideType<T>>(gradient));
    }
  }
};

// products and sums[part * size + j] = the sums of dy x r and of dy in column j over a part of the
// rows. The parts are added later.
template <typename T>
struct RmsNormPartialSums {
  static constexpr const char* kName = "RMSNormColumns";
  int64_t rows, size, rows_per_part;
  const T *dy, *x;
  const WideType<T>* rrms;
  double *products, *sums;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t part = i / size, j = i % size, begin = part * rows_per_part;
    const int64_t end = begin + rows_per_part < rows ? begin + rows_per_part : rows;
    double product = 0, sum = 0;
    for (int64_t row = begin; row < end; ++row) {
      const double g = host_device::Widen(dy[row * size + j]);
      product += g * host_device::Widen(x[row * size + j]) * rrms[row];
      sum += g;
    }
    products[i] = product;
    sums[i] = sum;
  }
};
// dgamma and dbeta = the sums of their parts.
template <typename T>
struct RmsNormAddParts {
  static constexpr const char* kName = "RMSNormParameters";
  int64_t size, parts;
  const double *products, *sums;
  T *dgamma, *dbeta;
  CAFFE2_HOST_DEVICE void operator()(int64_t j) const {
    double product = 0, sum = 0;
    for (int64_t part = 0; part < parts; ++part) {
      product += products[part * size + j];
      sum += sums[part * size + j];
    }
    dgamma[j] = host_device::Narrow<T>(static_cast<WideType<T>>(product));
    dbeta[j] = host_device::Narrow<T>(static_cast<WideType<T>>(sum));
  }
};

}  // namespace caffe2
