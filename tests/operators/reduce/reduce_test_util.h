// Reductions by plain loops, for the tests of reductions.
#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/operators/op_test.h"

namespace caffe2::testing {

struct Reduction {
  double init;
  std::function<double(double, double)> combine;
  std::function<double(double, double)> finish;  // (value, count)
};

inline const std::map<std::string, Reduction>& Reductions() {
  const auto keep = [](double v, double) { return v; };
  static const std::map<std::string, Reduction> reductions = {
      {"Sum", {0, [](double a, double x) { return a + x; }, keep}},
      {"Mean",
       {0, [](double a, double x) { return a + x; }, [](double v, double n) { return v / n; }}},
      {"Max", {-INFINITY, [](double a, double x) { return std::max(a, x); }, keep}},
      {"Min", {INFINITY, [](double a, double x) { return std::min(a, x); }, keep}},
      {"L1", {0, [](double a, double x) { return a + std::fabs(x); }, keep}},
      {"L2",
       {0, [](double a, double x) { return a + x * x; },
        [](double v, double) { return std::sqrt(v); }}}};
  return reductions;
}

// Index by index: element i of x goes to the result at its kept coordinates.
inline std::vector<float> ReductionReference(const Reduction& reduction, const Shape& dims,
                                             const std::set<int>& axes,
                                             const std::vector<float>& x) {
  int64_t results = 1;
  for (size_t d = 0; d < dims.size(); ++d) results *= axes.count(d) ? 1 : dims[d];
  std::vector<double> y(results, reduction.init);
  for (size_t i = 0; i < x.size(); ++i) {
    int64_t rest = i, target = 0, stride = 1;
    for (int d = static_cast<int>(dims.size()) - 1; d >= 0; --d) {
      if (!axes.count(d)) {
        target += rest % dims[d] * stride;
        stride *= dims[d];
      }
      rest /= dims[d];
    }
    y[target] = reduction.combine(y[target], x[i]);
  }
  std::vector<float> result;
  for (double v : y) result.push_back(reduction.finish(v, static_cast<double>(x.size()) / results));
  return result;
}

inline Shape ReducedShape(const Shape& dims, const std::set<int>& axes, bool keepdims) {
  Shape shape;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (!axes.count(d)) {
      shape.push_back(dims[d]);
    } else if (keepdims) {
      shape.push_back(1);
    }
  }
  return shape;
}

}  // namespace caffe2::testing
