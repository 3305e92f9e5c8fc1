// One-hot columns and buckets, for the host and for devices (host_device.h).
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// The number of the n ascending boundaries that are below x or, with `upto`, equal to it.
CAFFE2_HOST_DEVICE inline int64_t BoundariesBelow(const float* boundary, int64_t n, float x,
                                                  bool upto) {
  int64_t low = 0;
  while (n > 0) {
    const int64_t half = n / 2;
    const float middle = boundary[low + half];
    const bool below = upto ? !(x < middle) : middle < x;
    low += below ? half + 1 : 0;
    n = below ? n - half - 1 : half;
  }
  return low;
}

// Element i of [indices, classes]: 1 in the column that its index names, else 0.
struct OneHotElements {
  static constexpr const char* kName = "OneHot";
  int64_t classes;
  const int64_t* index;
  float* y;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    y[i] = index[i / classes] == i % classes ? 1.f : 0.f;
  }
};

// Row s of [segments, columns]: 1 in the columns that the segment's indices name. y must be 0
// already.
struct SegmentOneHotRows {
  static constexpr const char* kName = "SegmentOneHot";
  const int64_t* offsets;
  int64_t columns;
  const int64_t* index;
  float* y;
  CAFFE2_HOST_DEVICE void operator()(int64_t s) const {
    for (int64_t k = offsets[s]; k < offsets[s + 1]; ++k) {
      if (index[k] >= 0 && index[k] < columns) y[s * columns + index[k]] = 1;
    }
  }
};

// Element i of [rows, values]: 1 if the element of x in the value's column equals the value.
template <typename T>
struct BatchOneHotElements {
  static constexpr const char* kName = "BatchOneHot";
  int64_t columns, values;
  const int64_t* column;  // of each value
  const T *x, *value;
  T* y;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t row = i / values, k = i % values;
    y[i] = x[row * columns + column[k]] == value[k] ? T(1) : T(0);
  }
};

// Writes the buckets of element i of x [rows, columns]. Column j has the boundaries [offsets[j],
// offsets[j + 1]), and one bucket more than boundaries. Of the buckets between equal boundaries,
// the middle one holds their value.
struct BucketOneHotElements {
  static constexpr const char* kName = "BatchBucketOneHot";
  int64_t columns, width;  // of x and of y
  const int64_t* offsets;
  const float *boundary, *x;
  float* y;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t j = i % columns, first = offsets[j], n = offsets[j + 1] - first;
    const int64_t bucket = (BoundariesBelow(boundary + first, n, x[i], false) +
                            BoundariesBelow(boundary + first, n, x[i], true)) /
                           2;
    float* to = y + i / columns * width + first + j;
    for (int64_t k = 0; k <= n; ++k) to[k] = k == bucket ? 1.f : 0.f;
  }
};

// y[i] = the bucket of x[i].
struct BucketElements {
  static constexpr const char* kName = "Bucketize";
  int64_t n;
  const float *boundary, *x;
  int32_t* y;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    y[i] = static_cast<int32_t>(BoundariesBelow(boundary, n, x[i], false));
  }
};

// Element i of [rows, features]: the bucket of the feature's column of x, whose boundaries are
// [offsets[f], offsets[f + 1]).
struct BatchBucketElements {
  static constexpr const char* kName = "BatchBucketize";
  int64_t columns, features;  // of x and of y
  const int64_t *column, *offsets;
  const float *boundary, *x;
  int32_t* y;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t f = i % features, first = offsets[f];
    y[i] = static_cast<int32_t>(BoundariesBelow(boundary + first, offsets[f + 1] - first,
                                                x[i / features * columns + column[f]], false));
  }
};

}  // namespace caffe2
