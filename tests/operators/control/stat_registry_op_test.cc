#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(StatRegistryTest, SumsByName) {
  Workspace ws;
  RunOp(&ws, Op("StatRegistryCreate", {}, {"r"}), true);
  Feed<std::string>(&ws, "k", {3}, {"b", "a", "b"});
  Feed<int64_t>(&ws, "v", {3}, {1, 10, 2});
  RunOp(&ws, Op("StatRegistryUpdate", {"k", "v", "r"}, {}), true);
  const auto keep = MakeArgument("reset", 0);
  RunOp(&ws, Op("StatRegistryExport", {"r"}, {"keys", "values", "times"}, {keep}), true);
  EXPECT_EQ(FetchValues<std::string>(ws, "keys"), (Strings{"a", "b"}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "values"), (Longs{10, 3}));
  const OperatorDef reset = Op("StatRegistryExport", {"r"}, {"keys", "values", "times"});
  RunOp(&ws, reset, true);
  EXPECT_EQ(FetchValues<int64_t>(ws, "values"), (Longs{10, 3}));
  RunOp(&ws, reset, true);
  EXPECT_EQ(FetchValues<int64_t>(ws, "values"), (Longs{0, 0}));
  Feed<int64_t>(&ws, "v", {1}, {1});
  ExpectThrows(&ws, Op("StatRegistryUpdate", {"k", "v", "r"}, {}),
               "there must be one value for each key");
}

TEST(StatRegistryTest, TimersAddUp) {
  Workspace ws;
  RunOp(&ws, Op("TimerBegin", {}, {"my_timer"}), true);
  RunOp(&ws, Op("TimerGet", {"my_timer"}, {"first"}), true);
  RunOp(&ws, Op("TimerGetAndEnd", {"my_timer"}, {"second"}), true);
  RunOp(&ws, Op("TimerEnd", {"my_timer"}, {}), true);
  const int64_t first = FetchValues<int64_t>(ws, "first").at(0);
  ExpectEach<int64_t>(ws, "first", [](int64_t time, int64_t) { return time >= 0; });
  ExpectEach<int64_t>(ws, "second", [=](int64_t time, int64_t) { return time >= first; });
  RunOp(&ws, Op("StatRegistryExport", {}, {"keys", "values", "times"}), true);
  const auto keys = FetchValues<std::string>(ws, "keys");
  const auto values = FetchValues<int64_t>(ws, "values");
  const auto found = std::find(keys.begin(), keys.end(), "my_timer/time_ns/count");
  ASSERT_NE(found, keys.end());
  EXPECT_EQ(values[found - keys.begin()], 2);
  RunOp(&ws, Op("TimerBegin", {}, {"other"}, {MakeArgument<std::string>("counter_name", "named")}),
        true);
  RunOp(&ws, Op("TimerEnd", {"other"}, {}), true);
  RunOp(&ws, Op("StatRegistryExport", {}, {"keys", "values", "times"}), true);
  const auto with_name = FetchValues<std::string>(ws, "keys");
  EXPECT_EQ(std::count(with_name.begin(), with_name.end(), "named/time_ns/count"), 1);
  EXPECT_EQ(std::count(with_name.begin(), with_name.end(), "other/time_ns/count"), 0);
  RunOp(&ws, Op("WallClockTime", {}, {"t"}));
  const int64_t hour = int64_t{3600} * 1000000000, now = int64_t{std::time(nullptr)} * 1000000000;
  for (const char* name : {"t", "times"}) {
    ExpectEach<int64_t>(ws, name,
                        [=](int64_t time, int64_t) { return std::abs(time - now) < hour; });
  }
  ExpectThrows(&ws, Op("TimerGet", {"t"}, {"x"}), "t");
}

}  // namespace
}  // namespace caffe2::testing
