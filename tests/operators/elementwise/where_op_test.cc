#include "tests/operators/elementwise/elementwise_test_util.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(WhereOpTest, ChoosesElementsOrRows) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 2}, {1, 2, 3, 4});
  Feed<float>(&ws, "Y", {2, 2}, {-1, -2, -3, -4});
  FeedBools(&ws, "C", {2, 2}, {1, 0, 0, 1});
  FeedBools(&ws, "rows", {2}, {0, 1});
  RunOp(&ws, Op("Where", {"C", "X", "Y"}, {"Z"}));
  ExpectTensor(ws, "Z", {2, 2}, {1, -2, -3, 4});
  RunOp(&ws, Op("Where", {"rows", "X", "Y"}, {"Y"}, {MakeArgument("broadcast_on_rows", 1)}));
  ExpectTensor(ws, "Y", {2, 2}, {-1, -2, 3, 4});
  ExpectThrows(&ws, Op("Where", {"rows", "X", "Y"}, {"Z"}), "condition has shape");
  ExpectThrows(&ws, Op("Where", {"C", "X", "Y"}, {"Z"}, {MakeArgument("broadcast_on_rows", 1)}),
               "each row");
}

// Three rows of two elements; the condition takes the middle one from X.
template <typename T>
void ExpectMiddleRow(const std::vector<T>& x, const std::vector<T>& y) {
  Workspace ws;
  Feed<T>(&ws, "X", {3, 2}, x);
  Feed<T>(&ws, "Y", {3, 2}, y);
  FeedBools(&ws, "rows", {3}, {0, 1, 0});
  RunOp(&ws, Op("Where", {"rows", "X", "Y"}, {"Z"}, {MakeArgument("broadcast_on_rows", 1)}));
  EXPECT_EQ(FetchValues<T>(ws, "Z"), (std::vector<T>{y[0], y[1], x[2], x[3], y[4], y[5]}));
  FeedBools(&ws, "elements", {3, 2}, {1, 0, 0, 0, 0, 1});
  RunOp(&ws, Op("Where", {"elements", "X", "Y"}, {"X"}));  // in place
  EXPECT_EQ(FetchValues<T>(ws, "X"), (std::vector<T>{x[0], y[1], y[2], y[3], y[4], x[5]}));
}

TEST(WhereOpTest, TakesElementsOfEachSize) {
  ExpectMiddleRow<uint8_t>({1, 2, 3, 4, 5, 6}, {11, 12, 13, 14, 15, 16});
  ExpectMiddleRow<int16_t>({1, 2, 3, 4, 5, -6}, {11, 12, 13, 14, 15, 1600});
  ExpectMiddleRow<int32_t>({1, 2, 3, 4, 5, -6}, {11, 12, 13, 14, 15, 1 << 30});
  ExpectMiddleRow<int64_t>({1, 2, 3, 4, 5, -6}, {11, 12, 13, 14, 15, int64_t{1} << 60});
}

TEST(WhereOpTest, TakesText) {
  ExpectMiddleRow<std::string>({"a", "b", "c", "d", "e", "f"}, {"A", "B", "C", "D", "E", "F"});
}

TEST(WhereOpTest, RefusesOtherTypesAndNoRows) {
  Workspace ws;
  FeedBools(&ws, "C", {2}, {1, 0});
  Feed<float>(&ws, "X", {2}, {1, 2});
  Feed<int32_t>(&ws, "Y", {2}, {1, 2});
  ExpectThrows(&ws, Op("Where", {"C", "X", "Y"}, {"Z"}),
               "X and Y must have the same shape and type");
  FeedBools(&ws, "none", {0}, {});
  Feed<float>(&ws, "empty", {0, 3}, {});
  RunOp(&ws,
        Op("Where", {"none", "empty", "empty"}, {"Z"}, {MakeArgument("broadcast_on_rows", 1)}));
  ExpectTensor(ws, "Z", {0, 3}, {});
}

}  // namespace
}  // namespace caffe2::testing
