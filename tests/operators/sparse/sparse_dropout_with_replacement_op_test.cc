#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(SparseDropoutWithReplacementTest, ReplacesWholeLists) {
  Workspace ws;
  constexpr int kLists = 1000;
  Longs ids;
  for (int i = 0; i < kLists; ++i) ids.insert(ids.end(), {2 * i, 2 * i + 1});
  Feed(&ws, "X", {2 * kLists}, ids);
  Feed(&ws, "n", {kLists}, Ints(kLists, 2));
  const auto dropout = [](float ratio) {
    OperatorDef op = Op("SparseDropoutWithReplacement", {"X", "n"}, {"Y", "m"},
                        {MakeArgument("ratio", ratio), MakeArgument("replacement_value", -1)});
    op.mutable_device_option()->set_random_seed(3);
    return op;
  };
  RunOp(&ws, dropout(0.25f), true);
  Longs expected;
  int dropped = 0;
  ExpectEach<int32_t>(ws, "m", [&](int32_t length, int64_t i) {
    dropped += length == 1;
    if (length == 1) {
      expected.push_back(-1);
    } else {
      expected.insert(expected.end(), {2 * i, 2 * i + 1});
    }
    return length == 1 || length == 2;
  });
  EXPECT_EQ(Fetch(ws, "m").numel(), kLists);
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), expected);
  EXPECT_NEAR(dropped, 250, 70);  // 5 standard deviations
  RunOp(&ws, dropout(0), true);
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), ids);
  Feed<int64_t>(&ws, "X", {0}, {});
  Feed<int32_t>(&ws, "n", {1}, {0});
  RunOp(&ws, dropout(1), true);
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), Longs{-1});
  ExpectThrows(&ws, dropout(1.5f), "from 0 to 1");
}

}  // namespace
}  // namespace caffe2::testing
