#include <limits>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

const std::vector<Argument> kArguments = {MakeArgument("threshold", 0.5f),
                                          MakeArgument("low_value", -2.f),
                                          MakeArgument("high_value", 3.f)};

TEST(StumpFuncOpTest, ChoosesByTheThreshold) {
  Workspace ws;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Feed<float>(&ws, "X", {2, 3}, {0.5f, 0.6f, -1, 7, nan, 0.4f});
  RunOp(&ws, Op("StumpFunc", {"X"}, {"Y"}, kArguments));
  ExpectTensor(ws, "Y", {2, 3}, {-2, 3, -2, 3, 3, -2});
  RunOp(&ws, Op("StumpFunc", {"X"}, {"X"}, kArguments));
  ExpectTensor(ws, "X", {2, 3}, {-2, 3, -2, 3, 3, -2});
}

TEST(StumpFuncOpTest, ListsBothSides) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 2}, {0.5f, 0.6f, 7, -1});
  RunOp(&ws, Op("StumpFuncIndex", {"X"}, {"low", "high"}, {MakeArgument("threshold", 0.5f)}), true);
  EXPECT_EQ(FetchValues<int64_t>(ws, "low"), (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "high"), (std::vector<int64_t>{1, 2}));
  Feed<float>(&ws, "X", {0}, {});
  RunOp(&ws, Op("StumpFuncIndex", {"X"}, {"low", "high"}), true);
  EXPECT_EQ(Fetch(ws, "low").numel() + Fetch(ws, "high").numel(), 0);
}

TEST(StumpFuncOpTest, RefusesIntegers) {
  Workspace ws;
  Feed<int32_t>(&ws, "X", {1}, {1});
  ExpectThrows(&ws, Op("StumpFunc", {"X"}, {"Y"}), "not supported");
  ExpectThrows(&ws, Op("StumpFuncIndex", {"X"}, {"low", "high"}), "int");
}

}  // namespace
}  // namespace caffe2::testing
