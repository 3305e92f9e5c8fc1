// Groups rows into segments, for operators that reduce each group.
#pragma once

#include <vector>

#include "caffe2/core/tensor.h"
#include "caffe2/utils/parallel.h"

namespace caffe2 {

// Entries 0 .. size() - 1, each in one of count() segments. Entries of a segment keep their order.
class Segments {
 public:
  // Segment i holds the next lengths[i] entries. `lengths` is int32 or int64 and one-dimensional.
  // Throws EnforceNotMet for a negative length, and unless they add up to `entries` (>= 0).
  static Segments FromLengths(const Tensor& lengths, int64_t entries);
  // FromLengths for as many entries as the lengths add up to.
  static Segments FromLengths(const Tensor& lengths);
  // Entry i is in segment ids[i]. `ids` is int32 or int64 and one-dimensional, of `entries`
  // elements. Throws EnforceNotMet unless they begin with 0 and each equals the one before or is 1
  // more.
  static Segments FromSortedIds(const Tensor& ids, int64_t entries);
  // Like FromSortedIds, for ids in any order. There are `count` segments or, if that is negative,
  // as many as the largest id needs. Throws EnforceNotMet for an id out of range.
  static Segments FromIds(const Tensor& ids, int64_t entries, int64_t count = -1);

  int64_t count() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  int64_t size() const { return offsets_.back(); }
  int64_t length(int64_t segment) const { return offsets_[segment + 1] - offsets_[segment]; }
  // Entry `position` (from 0) of a segment.
  int64_t entry(int64_t segment, int64_t position) const {
    const int64_t at = offsets_[segment] + position;
    return order_.empty() ? at : order_[at];
  }
  // For sorted entries: the offset of each segment, and the end of the last one.
  const std::vector<int64_t>& Offsets() const { return offsets_; }
  // All entries, one segment after the other; empty if that is their own order.
  const std::vector<int64_t>& Order() const { return order_; }
  // Calls body(segment) for all segments, in several threads if there is enough work (`width`
  // operations for each entry). An entry is in one segment only, so results do not depend on
  // threads.
  template <typename Body>
  void ForEach(int64_t width, const Body& body) const {
    constexpr int64_t kGrain = 1 << 16;  // operations
    const int64_t each = std::max<int64_t>(1, size() * width / std::max<int64_t>(1, count()));
    ParallelFor(count(), std::max<int64_t>(1, kGrain / each), [&](int64_t begin, int64_t end) {
      for (int64_t segment = begin; segment < end; ++segment) body(segment);
    });
  }

 private:
  Segments() = default;
  std::vector<int64_t> offsets_;  // of each segment in order_, and one more
  std::vector<int64_t> order_;    // entries by segment; empty: in their own order
};

}  // namespace caffe2
