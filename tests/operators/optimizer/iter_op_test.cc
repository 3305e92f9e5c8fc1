#include <algorithm>
#include <memory>
#include <mutex>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(IterTest, CountsFromOneOrFromItsInput) {
  Workspace ws;
  RunOp(&ws, Op("Iter", {}, {"iter"}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "iter"), std::vector<int64_t>{1});
  RunOp(&ws, Op("Iter", {}, {"iter"}));
  RunOp(&ws, Op("Iter", {"iter"}, {"iter"}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "iter"), std::vector<int64_t>{3});
  Feed<int64_t>(&ws, "two", {2}, {0, 0});
  ExpectThrows(&ws, Op("Iter", {"two"}, {"two"}), "one element");
  Feed<float>(&ws, "real", {1}, {0});
  ExpectThrows(&ws, Op("Iter", {"real"}, {"real"}), "int64");
  ExpectThrows(&ws, Op("Iter", {"iter"}, {"other"}), "in place");
}

TEST(IterTest, CountsUnderAMutex) {
  Workspace ws;
  RunOp(&ws, Op("CreateMutex", {}, {"mutex"}));
  EXPECT_NE(ws.GetBlob("mutex")->Get<std::unique_ptr<std::mutex>>(), nullptr);
  Feed<int64_t>(&ws, "iter", {1}, {41});
  RunOp(&ws, Op("AtomicIter", {"mutex", "iter"}, {"iter"}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "iter"), std::vector<int64_t>{42});
  // It counts its runs in the statistics of the process.
  Feed<int64_t>(&ws, "counted", {1}, {7});
  for (int i = 0; i < 2; ++i) RunOp(&ws, Op("AtomicIter", {"mutex", "counted"}, {"counted"}));
  RunOp(&ws, Op("StatRegistryExport", {}, {"keys", "sums", "times"}));
  const auto keys = FetchValues<std::string>(ws, "keys");
  const auto key = std::find(keys.begin(), keys.end(), "atomic_iter/stats/counted/num_iter");
  ASSERT_NE(key, keys.end());
  EXPECT_EQ(FetchValues<int64_t>(ws, "sums")[key - keys.begin()], 2);
  FeedRandom(&ws, "tensor", {1}, 1);
  ExpectThrows(&ws, Op("AtomicIter", {"tensor", "iter"}, {"iter"}), "mutex");
}

}  // namespace
}  // namespace caffe2::testing
