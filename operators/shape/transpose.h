// Permutes the dimensions of dense arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace caffe2 {

// Throws EnforceNotMet unless `axes` names each of `dims` dimensions once.
void CheckAxes(const std::vector<int>& axes, int dims);

// y = x with dimension i of y being dimension axes[i] of x. `dims` is the shape of x. Elements are
// plain bytes of itemsize 1, 2, 4 or 8 (EnforceNotMet otherwise); x and y must not overlap.
void TransposeElements(const std::vector<int64_t>& dims, const std::vector<int>& axes,
                       size_t itemsize, const void* x, void* y);

}  // namespace caffe2
