#include <memory>
#include <mutex>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(AssertTest, FailsOnFalse) {
  Workspace ws;
  Feed<bool>(&ws, "B", {2}, std::vector<bool>{true, true});
  RunOp(&ws, Op("Assert", {"B"}, {}));
  Feed<int64_t>(&ws, "I", {3}, {1, 0, 2});
  ExpectThrows(&ws, Op("Assert", {"I"}, {}, {MakeArgument<std::string>("error_msg", "too few")}),
               "element 1 is false: too few");
  Feed<float>(&ws, "F", {1}, {1});
  ExpectThrows(&ws, Op("Assert", {"F"}, {}), "float");
}

TEST(AtomicTest, SharedScalars) {
  Workspace ws;
  RunOp(&ws, Op("CreateMutex", {}, {"mutex"}), true);
  Feed<int32_t>(&ws, "x", {1}, {3});
  Feed<int32_t>(&ws, "step", {1}, {4});
  RunOp(&ws, Op("AtomicFetchAdd", {"mutex", "x", "step"}, {"x", "before"}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "x"), Ints{7});
  EXPECT_EQ(FetchValues<int32_t>(ws, "before"), Ints{3});
  Feed<int32_t>(&ws, "two", {2}, {1, 1});
  ExpectThrows(&ws, Op("AtomicFetchAdd", {"mutex", "x", "two"}, {"x", "before"}), "[2]");

  RunOp(&ws, Op("CreateAtomicBool", {}, {"flag"}), true);
  const auto expect_flag = [&ws](bool expected) {
    RunOp(&ws, Op("CheckAtomicBool", {"flag"}, {"value"}));
    EXPECT_EQ(FetchValues<bool>(ws, "value"), Flags{expected});
  };
  Feed<bool>(&ws, "c", {1}, std::vector<bool>{false});
  RunOp(&ws, Op("ConditionalSetAtomicBool", {"flag", "c"}, {}));
  expect_flag(false);
  Feed<bool>(&ws, "c", {1}, std::vector<bool>{true});
  RunOp(&ws, Op("ConditionalSetAtomicBool", {"flag", "c"}, {}));
  expect_flag(true);
  ExpectThrows(&ws, Op("CheckAtomicBool", {"c"}, {"value"}), "c");
}

TEST(AtomicTest, NamesAnObjectThatWasNotCreated) {
  Workspace ws;
  ws.CreateBlob("m")->GetMutable<std::unique_ptr<std::mutex>>();
  Feed<int32_t>(&ws, "x", {1}, {3});
  Feed<int32_t>(&ws, "step", {1}, {4});
  ExpectThrows(&ws, Op("AtomicFetchAdd", {"m", "x", "step"}, {"x", "before"}),
               "the mutex \"m\" was not created; run CreateMutex first");
}

}  // namespace
}  // namespace caffe2::testing
