// Walks over the windows and the rows of a pooling on the CPU.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "operators/pool/pool_kernels.h"

namespace caffe2 {

// Along one axis, the windows that hold each input index.
class WindowsOfInputs {
 public:
  WindowsOfInputs(const PoolShape& s, int axis) {
    for (int64_t in = 0; in < s.input[axis]; ++in) {
      const int64_t last = in + s.pad[axis], minimum = last - s.kernel[axis] + 1;
      const int64_t first = minimum <= 0 ? 0 : (minimum + s.stride[axis] - 1) / s.stride[axis];
      ranges_.push_back({first, std::min(s.output[axis], last / s.stride[axis] + 1)});
    }
  }
  int64_t First(int64_t in) const { return ranges_[in].first; }
  int64_t End(int64_t in) const { return ranges_[in].second; }
  // The windows that hold any of inputs [in, in + count), and the most for any `in`.
  int64_t Count(int64_t in, int64_t count) const {
    return std::max<int64_t>(0, End(in + count - 1) - First(in));
  }
  int64_t MostOf(int64_t count) const {
    int64_t most = 0;
    for (int64_t in = 0; in + count <= std::ssize(ranges_); ++in) {
      most = std::max(most, Count(in, count));
    }
    return most;
  }

 private:
  std::vector<std::pair<int64_t, int64_t>> ranges_;
};

// Calls body(row, plane, d, h) for rows [begin, end) of planes of depth times height rows.
template <typename Body>
void ForEachRowOfPlanes(int64_t begin, int64_t end, int64_t depth, int64_t height,
                        const Body& body) {
  if (begin >= end) return;
  int64_t h = begin % height, d = begin / height % depth, plane = begin / height / depth;
  for (int64_t row = begin; row < end; ++row) {
    body(row, plane, d, h);
    if (++h < height) continue;
    h = 0;
    if (++d < depth) continue;
    d = 0;
    ++plane;
  }
}

}  // namespace caffe2
