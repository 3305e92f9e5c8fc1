// Segments: how rows are grouped, for operators that reduce each group.
#pragma once

#include <vector>

#include "caffe2/core/tensor.h"
#include "caffe2/utils/parallel.h"

namespace caffe2 {

// Entries 0 .. size() - 1, each in one of count() segments; those of a segment keep their order.
class Segments {
 public:
  // Segment i is the next lengths[i] entries. lengths: int32 or int64, one-dimensional. Throws
  // EnforceNotMet on a negative one, and unless they add up to `entries` (>= 0).
  static Segments FromLengths(const Tensor& lengths, int64_t entries);
  // The same, for entries that are as many as the lengths say.
  static Segments FromLengths(const Tensor& lengths);
  // Entry i is in segment ids[i]. ids: int32 or int64, one-dimensional, of `entries` elements. They
  // must begin with 0 and each be equal to the one before or 1 more.
  static Segments FromSortedIds(const Tensor& ids, int64_t entries);
  // The same for ids in any order; `count` segments, or if it is negative as many as the largest
  // id needs. Throws on an id that is out of range.
  static Segments FromIds(const Tensor& ids, int64_t entries, int64_t count = -1);

  int64_t count() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  int64_t size() const { return offsets_.back(); }
  int64_t length(int64_t segment) const { return offsets_[segment + 1] - offsets_[segment]; }
  // Entry `position` (from 0) of a segment.
  int64_t entry(int64_t segment, int64_t position) const {
    const int64_t at = offsets_[segment] + position;
    return order_.empty() ? at : order_[at];
  }
  // Of sorted entries: where each segment begins, and the end of the last.
  const std::vector<int64_t>& Offsets() const { return offsets_; }
  // Calls body(segment) for all segments, in several threads if the work, `width` operations an
  // entry, is worth it. An entry is in one segment only: results do not depend on the threads.
  template <typename Body>
  void ForEach(int64_t width, const Body& body) const {
    constexpr int64_t kGrain = 1 << 14;  // operations
    const int64_t each = std::max<int64_t>(1, size() * width / std::max<int64_t>(1, count()));
    ParallelFor(count(), std::max<int64_t>(1, kGrain / each), [&](int64_t begin, int64_t end) {
      for (int64_t segment = begin; segment < end; ++segment) body(segment);
    });
  }

 private:
  Segments() = default;
  std::vector<int64_t> offsets_;  // of each segment in order_, and one more
  std::vector<int64_t> order_;    // entries by segment; empty: as they come
};

}  // namespace caffe2
