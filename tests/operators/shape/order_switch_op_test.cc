// NCHW2NHWC, NHWC2NCHW and ChannelShuffle.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/operators/image/image_reference.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

template <typename T>
void CheckBothWays(const std::vector<int64_t>& dims) {
  Workspace ws;
  std::vector<T> x;
  for (int64_t i = 0; i < CheckedNumel(dims); ++i) x.push_back(static_cast<T>(i * 37));
  Feed(&ws, "X", dims, x);
  RunOp(&ws, Op("NCHW2NHWC", {"X"}, {"Y"}));
  EXPECT_EQ(Fetch(ws, "Y").sizes(), ToNHWC(dims));
  EXPECT_EQ(FetchValues<T>(ws, "Y"), ToNHWC(dims, x));
  RunOp(&ws, Op("NHWC2NCHW", {"Y"}, {"Z"}));
  EXPECT_EQ(Fetch(ws, "Z").sizes(), dims);
  EXPECT_EQ(FetchValues<T>(ws, "Z"), x);
}

TEST(OrderSwitch, AnyTypeAndRank) {
  CheckBothWays<float>({2, 3, 4, 5});
  CheckBothWays<float>({3, 40, 33, 70});  // several blocks and threads
  CheckBothWays<uint8_t>({2, 3, 17, 19});
  CheckBothWays<int64_t>({2, 3, 4});
  CheckBothWays<int16_t>({2, 3, 2, 3, 4});
  CheckBothWays<double>({0, 3, 4, 5});
}

TEST(OrderSwitch, Gradient) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3, 2, 2}, 1);
  CheckGradient(&ws, Op("NCHW2NHWC", {"X"}, {"Y"}), {0});
  CheckGradient(&ws, Op("NHWC2NCHW", {"X"}, {"Y"}), {0});
}

TEST(OrderSwitch, RefusesWhatCannotWork) {
  Workspace ws;
  FeedRandom(&ws, "V", {3}, 1);
  ExpectThrows(&ws, Op("NCHW2NHWC", {"V"}, {"Y"}), "shape [3]");
  Feed(&ws, "S", {1, 1, 1}, std::vector<std::string>{"text"});
  ExpectThrows(&ws, Op("NCHW2NHWC", {"S"}, {"Y"}), "cannot reorder");
}

}  // namespace
}  // namespace caffe2::testing
