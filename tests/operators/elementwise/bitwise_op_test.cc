#include <functional>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

struct Bitwise {
  const char* type;
  std::function<int64_t(int64_t, int64_t)> reference;
};
const std::vector<Bitwise> kOperators = {
    {"BitwiseAnd", [](int64_t a, int64_t b) { return a & b; }},
    {"BitwiseOr", [](int64_t a, int64_t b) { return a | b; }},
    {"BitwiseXor", [](int64_t a, int64_t b) { return a ^ b; }},
};

template <typename T>
void ExpectReference(const Bitwise& op) {
  Workspace ws;
  const std::vector<T> a{0, 1, static_cast<T>(-6), 127, 12, 10}, b{1, 0, static_cast<T>(-1)};
  Feed<T>(&ws, "A", {2, 3}, a);
  Feed<T>(&ws, "B", {3}, b);
  std::vector<T> c;
  for (size_t i = 0; i < a.size(); ++i) c.push_back(static_cast<T>(op.reference(a[i], b[i % 3])));
  RunOp(&ws, Op(op.type, {"A", "B"}, {"C"}));
  EXPECT_EQ(FetchValues<T>(ws, "C"), c);
  RunOp(&ws, Op(op.type, {"A", "B"}, {"A"}));
  EXPECT_EQ(FetchValues<T>(ws, "A"), c);
}

TEST(BitwiseOpTest, MatchesReferenceForAllTypes) {
  for (const Bitwise& op : kOperators) {
    SCOPED_TRACE(op.type);
    ExpectReference<int32_t>(op);
    ExpectReference<int64_t>(op);
    Workspace ws;
    Feed<bool>(&ws, "A", {4}, {false, false, true, true});
    Feed<bool>(&ws, "B", {4}, {false, true, false, true});
    RunOp(&ws, Op(op.type, {"A", "B"}, {"C"}));
    ExpectEach<bool>(
        ws, "C", [&](bool value, int64_t i) { return value == (op.reference(i / 2, i % 2) != 0); });
  }
}

TEST(BitwiseOpTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "F", {2}, 1);
  Feed<int>(&ws, "A", {2}, {1, 2});
  Feed<int>(&ws, "B", {3}, {1, 2, 3});
  for (const Bitwise& op : kOperators) {
    ExpectThrows(&ws, Op(op.type, {"F", "F"}, {"C"}), "float");
    ExpectThrows(&ws, Op(op.type, {"A", "B"}, {"C"}), "[3]");
  }
}

}  // namespace
}  // namespace caffe2::testing
