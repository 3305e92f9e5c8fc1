// The order of TopK and similar operators, on the host.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <vector>

#include "operators/common/element_type.h"

namespace caffe2 {

// Larger elements first; equal elements keep their order. NaN counts as larger than any number, so
// that this is a strict order.
template <typename T>
bool IsBefore(T a, int64_t a_index, T b, int64_t b_index) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) {
      return std::isnan(a) && std::isnan(b) ? a_index < b_index : std::isnan(a);
    }
  }
  return a > b || (a == b && a_index < b_index);
}

// Sorts the best `count` of x[0], x[stride], ... (n elements) to the front of `order`.
template <typename T>
void SelectBest(const T* x, int64_t n, int64_t stride, int64_t count, std::vector<int64_t>* order) {
  order->resize(n);
  std::iota(order->begin(), order->end(), int64_t{0});
  const auto before = [=](int64_t i, int64_t j) {
    return IsBefore(Widen(x[i * stride]), i, Widen(x[j * stride]), j);
  };
  constexpr int64_t kParts = 16;  // the heap of a smaller part seldom changes
  if (count <= n / kParts) {
    std::partial_sort(order->begin(), order->begin() + count, order->end(), before);
  } else {
    std::nth_element(order->begin(), order->begin() + count, order->end(), before);
    std::sort(order->begin(), order->begin() + count, before);
  }
}

}  // namespace caffe2
