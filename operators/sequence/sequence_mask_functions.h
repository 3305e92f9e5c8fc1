// SequenceMask, for the host and for devices (host_device.h).
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// Values of the argument mode.
enum class MaskMode { kSequence, kWindow, kUpper, kLower, kUpperDiagonal, kLowerDiagonal };

// Element i of x and y, which are [.., rows, columns, repeats]: y is `fill` where masked, else x.
// `entry` has the length (kSequence) or the window's centre (kWindow) of each row.
template <typename T>
struct MaskElements {
  static constexpr const char* kName = "SequenceMask";
  MaskMode mode;
  int64_t rows, columns, repeats, radius;
  const int* entry;
  float fill;
  const T* x;
  T* y;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t position = i / repeats;
    const bool masked = Masked(position / columns % rows, position % columns);
    y[i] = masked ? host_device::Narrow<T>(fill) : x[i];
  }
  CAFFE2_HOST_DEVICE bool Masked(int64_t row, int64_t column) const {
    switch (mode) {
      case MaskMode::kSequence:
        return column >= entry[row];
      case MaskMode::kWindow:
        return column - entry[row] > radius || entry[row] - column > radius;
      case MaskMode::kUpper:
        return column > row;
      case MaskMode::kLower:
        return column < row;
      case MaskMode::kUpperDiagonal:
        return column >= row;
      case MaskMode::kLowerDiagonal:
        return column <= row;
    }
    return false;
  }
};

}  // namespace caffe2
