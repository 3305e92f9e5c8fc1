// What the tests of ranking losses share.
#pragma once

#include "tests/operators/op_test.h"

namespace caffe2::testing {

// Scores y and relevances r of two lists, of kLong and kShort elements: so long that on a device
// many threads share a list.
constexpr int kLong = 300, kShort = 40;
inline Floats FeedLongLists(Workspace* ws) {
  FeedRandom(ws, "y", {kLong + kShort}, 1);
  Floats r;
  for (int i = 0; i < kLong + kShort; ++i) r.push_back(static_cast<float>(i * i % 7 % 4));
  Feed(ws, "r", {kLong + kShort}, r);
  Feed<int64_t>(ws, "lengths", {2}, {kLong, kShort});
  return r;
}

}  // namespace caffe2::testing
