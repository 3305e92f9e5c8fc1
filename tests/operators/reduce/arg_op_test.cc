#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(ArgTest, FindsTheFirstExtreme) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 3}, {1, 5, 5, 2, 0, 0});
  RunOp(&ws, Op("ArgMax", {"X"}, {"I"}));
  EXPECT_EQ(Fetch(ws, "I").sizes(), (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "I"), (std::vector<int64_t>{1, 0}));
  RunOp(&ws, Op("ArgMin", {"X"}, {"I"},
                {MakeArgument<int>("axis", 0), MakeArgument<int>("keepdims", 0)}));
  EXPECT_EQ(Fetch(ws, "I").sizes(), (std::vector<int64_t>{3}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "I"), (std::vector<int64_t>{0, 1, 1}));
  Feed<int64_t>(&ws, "L", {3}, {-4, -9, 8});
  RunOp(&ws, Op("ArgMin", {"L"}, {"I"}, {MakeArgument<int>("keepdims", 0)}));
  EXPECT_EQ(Fetch(ws, "I").dim(), 0);
  EXPECT_EQ(FetchValues<int64_t>(ws, "I"), std::vector<int64_t>{1});
}

TEST(ArgTest, RejectsBadInput) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 0}, {});
  ExpectThrows(&ws, Op("ArgMax", {"X"}, {"I"}), "[2, 0] is empty");
  ExpectThrows(&ws, Op("ArgMax", {"X"}, {"I"}, {MakeArgument<int>("axis", 5)}), "axis 5");
}

}  // namespace
}  // namespace caffe2::testing
