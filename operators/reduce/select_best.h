// The order of TopK and similar operators, on the host.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "operators/common/element_type.h"

namespace caffe2 {

// Larger elements come first; equal elements, as 0 and -0 are, keep their order. NaN counts as
// larger than any number, and as equal to NaN. A place is an element with its index; places are
// smaller the earlier they come.
template <typename T>
struct Place {
  T value;
  int64_t index;

  static CAFFE2_INLINE Place Make(T value, int64_t index) { return {value, index}; }
  int64_t Index() const { return index; }
  bool operator<(const Place& other) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(value) || std::isnan(other.value)) {
        return std::isnan(value) && (!std::isnan(other.value) || index < other.index);
      }
    }
    return value > other.value || (value == other.value && index < other.index);
  }
};
// An element of 32 bits is the high half of a number whose low half is the index.
struct PackedPlace {
  uint64_t bits;

  static constexpr uint32_t kSign = 0x80000000u;
  static CAFFE2_INLINE PackedPlace Make(int32_t value, int64_t index) {
    return Pack(~(static_cast<uint32_t>(value) ^ kSign), index);
  }
  static CAFFE2_INLINE PackedPlace Make(float value, int64_t index) {
    const auto number = std::bit_cast<uint32_t>(value + 0.f);  // no -0
    const uint32_t descending = (number & kSign) != 0 ? number : number ^ ~kSign;
    return Pack(value != value ? 0 : descending, index);
  }
  static CAFFE2_INLINE PackedPlace Pack(uint32_t order, int64_t index) {
    return {uint64_t{order} << 32 | static_cast<uint32_t>(index)};
  }
  int64_t Index() const { return static_cast<uint32_t>(bits); }
  bool operator<(const PackedPlace& other) const { return bits < other.bits; }
};

// Selects the best elements of one row at a time. For one thread.
template <typename T>
class BestElements {
 public:
  // Returns the indices of the best `count` of x[0], x[stride], ... (n elements), the best one
  // first. The next call overwrites them.
  const std::vector<int64_t>& Select(const T* x, int64_t n, int64_t stride, int64_t count) {
    if constexpr (sizeof(Number) == sizeof(uint32_t)) {
      if (n <= std::numeric_limits<uint32_t>::max()) {
        SelectAs(x, n, stride, count, &packed_);
        return order_;
      }
    }
    SelectAs(x, n, stride, count, &places_);
    return order_;
  }

 private:
  using Number = ArithmeticType<T>;

  template <class P>
  void SelectAs(const T* x, int64_t n, int64_t stride, int64_t count, std::vector<P>* places) {
    places->resize(n);
    for (int64_t i = 0; i < n; ++i) (*places)[i] = P::Make(Widen(x[i * stride]), i);
    const auto begin = places->begin(), middle = begin + count, end = places->end();
    constexpr int64_t kParts = 16;  // the heap of a smaller part seldom changes
    if (count <= n / kParts) {
      std::partial_sort(begin, middle, end);
    } else {
      std::nth_element(begin, middle, end);
      std::sort(begin, middle);
    }
    order_.resize(count);
    for (int64_t i = 0; i < count; ++i) order_[i] = (*places)[i].Index();
  }

  std::vector<PackedPlace> packed_;
  std::vector<Place<Number>> places_;
  std::vector<int64_t> order_;
};

}  // namespace caffe2
