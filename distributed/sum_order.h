// The order in which the data of the shards are added. All communicators of host memory use it, so
// their sums have the same bits.
#pragma once

#include <cstdint>
#include <vector>

#include "caffe2/core/type_meta.h"

namespace caffe2 {

enum class SumOrder {
  kDoubling,  // pairs of ranks at distance 1, then pairs of these sums at distance 2, 4, ...
  kHalving,   // the same, with the largest distance first; for powers of two
  kRing,      // rank by rank around the ring
};

// The order of an Allreduce of `count` elements over `shards` shards.
SumOrder AllreduceOrder(int64_t count, TypeMeta type, int shards);

// Consecutive elements of a buffer.
struct ElementRange {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
  // Part i of n nearly equal parts.
  ElementRange Part(int64_t i, int64_t n) const {
    return {begin + size() * i / n, begin + size() * (i + 1) / n};
  }
};

// Adds the data of rank `from` to the data of rank `to`.
struct Addition {
  int to, from;
};
// The additions, in this order, that sum the data of at least two shards; the `to` of the last one
// gets the sum. With kRing, the additions begin at the rank after `owner` and end at `owner`; with
// the other orders, `owner` only says where the sum should end, if possible.
std::vector<Addition> Additions(SumOrder order, int shards, int owner);

}  // namespace caffe2
