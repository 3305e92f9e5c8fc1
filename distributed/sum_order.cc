#include "distributed/sum_order.h"

#include <bit>

#include "caffe2/core/logging.h"

namespace caffe2 {

namespace {

// These limits were the fastest with Gloo over loopback (benchmarks/allreduce).
//
// Recursive doubling sends more bytes in fewer messages.
constexpr size_t kMaxDoublingBytes = size_t{256} << 10;
constexpr size_t kMaxHalvingBytes = size_t{1} << 20;

}  // namespace

SumOrder AllreduceOrder(int64_t count, TypeMeta type, int shards) {
  const size_t bytes = static_cast<size_t>(count) * type.itemsize();
  if (bytes <= kMaxDoublingBytes || count < shards) return SumOrder::kDoubling;
  const bool power_of_two = std::has_single_bit(static_cast<unsigned>(shards));
  return power_of_two && bytes <= kMaxHalvingBytes ? SumOrder::kHalving : SumOrder::kRing;
}

std::vector<Addition> Additions(SumOrder order, int shards, int owner) {
  CAFFE_ENFORCE_GT(shards, 1);
  std::vector<Addition> additions;
  if (order == SumOrder::kRing) {
    for (int i = 2; i <= shards; ++i) {
      additions.push_back({(owner + i) % shards, (owner + i - 1) % shards});
    }
    return additions;
  }
  // The ranks below `group` add in pairs; each extra rank is added to one of them before.
  const int group = static_cast<int>(std::bit_floor(static_cast<unsigned>(shards)));
  for (int i = group; i < shards; ++i) additions.push_back({i - group, i});
  // Every rank of a pair may hold the sum; these choices lead to the owner.
  const int root = owner % group;
  if (order == SumOrder::kDoubling) {
    for (int distance = 1; distance < group; distance *= 2) {
      for (int i = 0; i < group; i += 2 * distance) {
        additions.push_back({root ^ i, root ^ (i + distance)});
      }
    }
  } else {
    for (int distance = group / 2; distance > 0; distance /= 2) {
      for (int i = 0; i < distance; ++i) additions.push_back({root ^ i, root ^ (i + distance)});
    }
  }
  return additions;
}

}  // namespace caffe2
