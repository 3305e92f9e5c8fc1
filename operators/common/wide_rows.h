// Lets functions for rows of float also serve 16-bit types: a row is widened into a buffer, and the
// result is rounded once. Rows of other types are used in place.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "caffe2/utils/narrow_float.h"
#include "operators/common/element_type.h"

namespace caffe2 {

// A few widened copies of this many elements fit into the first-level cache.
constexpr int64_t kWideBlock = 1024;

// Reads rows of T as ArithmeticType<T>. For one thread.
template <typename T>
class WideInput {
 public:
  // The n elements of the row; valid until the next call.
  const ArithmeticType<T>* Row(int64_t n, const T* row) {
    if constexpr (std::is_same_v<T, ArithmeticType<T>>) {
      return row;
    } else {
      buffer_.resize(n);
      WidenRow(n, row, buffer_.data());
      return buffer_.data();
    }
  }

 private:
  std::vector<ArithmeticType<T>> buffer_;
};

// Writes rows of T from ArithmeticType<T>. For one thread. The row may also be a row of a
// WideInput, which has been read before the result is stored.
template <typename T>
class WideOutput {
 public:
  // The place to write the n elements of the row; valid until the next call.
  ArithmeticType<T>* Row(int64_t n, T* row) {
    if constexpr (std::is_same_v<T, ArithmeticType<T>>) {
      return row;
    } else {
      buffer_.resize(n);
      row_ = row;
      return buffer_.data();
    }
  }
  // Rounds the written elements into the row of the last call.
  void Store() {
    if constexpr (!std::is_same_v<T, ArithmeticType<T>>) {
      NarrowRow(static_cast<int64_t>(buffer_.size()), buffer_.data(), row_);
    }
  }

 private:
  std::vector<ArithmeticType<T>> buffer_;
  T* row_ = nullptr;
};

}  // namespace caffe2
