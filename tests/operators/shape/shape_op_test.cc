#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(ShapeOpTest, AnswersQuestions) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3, 4}, 1);
  Feed<float>(&ws, "none", {0, 3}, {});
  RunOp(&ws, Op("Shape", {"X"}, {"Y"}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), (std::vector<int64_t>{2, 3, 4}));
  RunOp(&ws, Op("Shape", {"X"}, {"Y"}, {MakeArgument("axes", std::vector<int>{2, 0})}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), (std::vector<int64_t>{4, 2}));
  RunOp(&ws, Op("Size", {"X"}, {"Y"}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), std::vector<int64_t>{24});
  for (const bool empty : {true, false}) {
    RunOp(&ws, Op("HasElements", {empty ? "none" : "X"}, {"Y"}));
    EXPECT_EQ(FetchValues<bool>(ws, "Y"), Flags{!empty});
    RunOp(&ws, Op("IsEmpty", {empty ? "none" : "X"}, {"Y"}));
    EXPECT_EQ(FetchValues<bool>(ws, "Y"), Flags{empty});
  }
  RunOp(&ws, Op("HasElements", {"none", "X"}, {"Y"}));
  EXPECT_EQ(FetchValues<bool>(ws, "Y"), Flags{true});
  RunOp(&ws, Op("HasElements", {"none", "none"}, {"Y"}));
  EXPECT_EQ(FetchValues<bool>(ws, "Y"), Flags{false});
  ExpectThrows(&ws, Op("Shape", {"X"}, {"Y"}, {MakeArgument("axes", 3)}), "out of range");
  RunOp(&ws, Op("Free", {"X", "none"}, {"X", "none"}), true);
  EXPECT_FALSE(ws.GetBlob("X")->IsType<Tensor>());
  ExpectThrows(&ws, Op("Free", {"X"}, {"Z"}), "in place");
}

}  // namespace
}  // namespace caffe2::testing
