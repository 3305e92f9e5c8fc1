#include "db/holdout.h"

#include <algorithm>
#include <cmath>

#include "caffe2/core/logging.h"
#include "db/random_seed.h"

namespace caffe2::db {
namespace {

constexpr uint64_t kHoldoutSeed = 0;  // another value would hold out other records of old runs

// 0 <= i < ranges. Does not overflow.
int64_t BeginOfRange(int64_t i, int64_t records, int64_t ranges) {
  return i * (records / ranges) + i * (records % ranges) / ranges;
}

}  // namespace

int64_t NumHeldOut(int64_t records, double share) {
  CAFFE_ENFORCE(share >= 0 && share < 1,
                "the share of held-out records must be at least 0 and below 1, found ", share);
  if (share == 0) return 0;
  CAFFE_ENFORCE(records >= 2, "a database of ", records, " records has none to hold out");
  const double wanted = std::round(static_cast<double>(records) * share);
  return std::clamp<int64_t>(static_cast<int64_t>(wanted), 1, records - 1);
}

std::vector<int64_t> RecordsOfPart(int64_t records, const Holdout& holdout) {
  const int64_t ranges = NumHeldOut(records, holdout.share);
  std::vector<int64_t> part;
  part.reserve(static_cast<size_t>(ranges == 0 ? 0 : holdout.held_out ? ranges : records - ranges));
  for (int64_t range = 0; range < ranges; ++range) {
    const int64_t begin = BeginOfRange(range, records, ranges);
    const int64_t end = BeginOfRange(range + 1, records, ranges);
    const uint64_t hash = MixSeed(kHoldoutSeed, static_cast<uint64_t>(range));
    const int64_t chosen = begin + static_cast<int64_t>(hash % static_cast<uint64_t>(end - begin));
    for (int64_t i = begin; i < end; ++i) {
      if ((i == chosen) == holdout.held_out) part.push_back(i);
    }
  }
  return part;
}

}  // namespace caffe2::db
