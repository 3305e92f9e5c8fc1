#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

// a combined with b by NumPy's rules, computed index by index.
std::vector<float> Reference(const std::string& type, const Shape& a_dims,
                             const std::vector<float>& a, const Shape& b_dims,
                             const std::vector<float>& b, const Shape& c_dims) {
  const auto offset = [&c_dims](const Shape& dims, int64_t index) {
    int64_t result = 0, stride = 1;
    for (size_t i = 0; i < c_dims.size(); ++i) {
      const int64_t c_dim = c_dims[c_dims.size() - 1 - i];
      if (i < dims.size()) {
        const int64_t dim = dims[dims.size() - 1 - i];
        if (dim != 1) result += index % c_dim * stride;
        stride *= dim;
      }
      index /= c_dim;
    }
    return result;
  };
  std::vector<float> c(CheckedNumel(c_dims));
  for (size_t i = 0; i < c.size(); ++i) {
    const float x = a[offset(a_dims, i)], y = b[offset(b_dims, i)];
    c[i] = type == "Add" ? x + y : type == "Sub" ? x - y : type == "Mul" ? x * y : x / y;
  }
  return c;
}

struct BroadcastCase {
  Shape a, b, c;
};

class ArithmeticTest : public ::testing::TestWithParam<const char*> {};

TEST_P(ArithmeticTest, BroadcastsLikeNumpy) {
  const std::string type = GetParam();
  const std::vector<BroadcastCase> cases = {{{2, 3}, {2, 3}, {2, 3}},
                                            {{2, 3}, {3}, {2, 3}},
                                            {{3}, {2, 3}, {2, 3}},
                                            {{2, 3, 4}, {3, 1}, {2, 3, 4}},
                                            {{2, 1, 4}, {3, 1}, {2, 3, 4}},
                                            {{}, {2, 2}, {2, 2}},
                                            {{2, 2}, {1}, {2, 2}},
                                            {{1, 3}, {2, 1}, {2, 3}},
                                            {{0, 3}, {3}, {0, 3}},
                                            {{2, 3, 1, 5}, {4, 1}, {2, 3, 4, 5}},
                                            {{}, {}, {}},
                                            {{70000}, {70000}, {70000}},
                                            {{200, 300}, {200, 1}, {200, 300}}};
  for (const BroadcastCase& shapes : cases) {
    Workspace ws;
    FeedRandom(&ws, "A", shapes.a, 1);
    FeedRandom(&ws, "B", shapes.b, 2, -2.f, 2.f, 0.5f);
    RunOp(&ws, Op(type, {"A", "B"}, {"C"}));
    ExpectTensor(ws, "C", shapes.c,
                 Reference(type, shapes.a, FetchValues<float>(ws, "A"), shapes.b,
                           FetchValues<float>(ws, "B"), shapes.c));
  }
}

TEST_P(ArithmeticTest, LegacyBroadcastPlacesSecondShape) {
  const std::string type = GetParam();
  struct Case {
    Shape b, numpy_b;
    std::vector<Argument> args;
  };
  const auto broadcast = MakeArgument("broadcast", 1);
  const std::vector<Case> cases = {
      {{4, 5}, {4, 5}, {broadcast}},
      {{3}, {3, 1, 1}, {broadcast, MakeArgument("axis", 1)}},
      {{3, 4}, {3, 4, 1}, {broadcast, MakeArgument("axis", 1)}},
      {{2}, {2, 1, 1, 1}, {broadcast, MakeArgument("axis", 0)}},
      {{1, 3, 1}, {3, 1, 1}, {broadcast, MakeArgument("axis", 0)}},
      {{1}, {1}, {broadcast}},
      {{3}, {3, 1, 1}, {broadcast, MakeArgument("axis_str", std::string("C"))}},
      {{5},
       {5},
       {broadcast, MakeArgument("axis_str", std::string("C")),
        MakeArgument("order", std::string("NHWC"))}}};
  for (const Case& c : cases) {
    Workspace ws;
    const Shape a = {2, 3, 4, 5};
    FeedRandom(&ws, "A", a, 1);
    FeedRandom(&ws, "B", c.b, 2, 0.5f, 2.f);
    RunOp(&ws, Op(type, {"A", "B"}, {"C"}, c.args));
    ExpectTensor(
        ws, "C", a,
        Reference(type, a, FetchValues<float>(ws, "A"), c.numpy_b, FetchValues<float>(ws, "B"), a));
  }
}

TEST_P(ArithmeticTest, Gradient) {
  const std::string type = GetParam();
  const auto broadcast = MakeArgument("broadcast", 1);
  struct Case {
    Shape a, b;
    std::vector<Argument> args;
  };
  const std::vector<Case> cases = {{{2, 3}, {2, 3}, {}},
                                   {{2, 3}, {3}, {}},
                                   {{3}, {2, 3}, {}},
                                   {{2, 1, 2}, {3, 1}, {}},
                                   {{2, 3, 2}, {3}, {broadcast, MakeArgument("axis", 1)}},
                                   {{2, 2}, {1}, {broadcast}}};
  for (const Case& c : cases) {
    Workspace ws;
    FeedRandom(&ws, "A", c.a, 1);
    FeedRandom(&ws, "B", c.b, 2, 0.6f, 2.f);
    CheckGradient(&ws, Op(type, {"A", "B"}, {"C"}, c.args), {0, 1});
  }
}

INSTANTIATE_TEST_SUITE_P(All, ArithmeticTest, ::testing::Values("Add", "Sub", "Mul", "Div"));

TEST(ArithmeticOpTest, WritesInPlace) {
  Workspace ws;
  Feed<float>(&ws, "A", {2, 2}, {1, 2, 3, 4});
  Feed<float>(&ws, "B", {2}, {10, 20});
  RunOp(&ws, Op("Add", {"A", "B"}, {"A"}));
  ExpectTensor(ws, "A", {2, 2}, {11, 22, 13, 24});
  RunOp(&ws, Op("Sub", {"B", "A"}, {"A"}));
  ExpectTensor(ws, "A", {2, 2}, {-1, -2, -3, -4});
  ExpectThrows(&ws, Op("Add", {"B", "A"}, {"B"}), "in place");
}

TEST(ArithmeticOpTest, GradientsMayTakeThePlaceOfTheOutputGradient) {
  for (const int slot : {0, 1}) {
    Workspace ws;
    Feed<float>(&ws, "A", {2}, {2, 3});
    Feed<float>(&ws, "B", {2}, {5, 7});
    Feed<float>(&ws, "dC", {2}, {1, 10});
    std::vector<std::string> outputs = {"dA", "dB"};
    outputs[slot] = "dC";
    RunOp(&ws, Op("MulGradient", {"dC", "A", "B"}, outputs));
    ExpectTensor(ws, outputs[0], {2}, {5, 70});
    ExpectTensor(ws, outputs[1], {2}, {2, 30});
  }
}

TEST(ArithmeticOpTest, GradientOfDivNeedsNoOverwrittenOperand) {
  for (const Shape& b : {Shape{2, 3}, Shape{3}}) {
    Workspace ws;
    FeedRandom(&ws, "A", {2, 3}, 1);
    FeedRandom(&ws, "B", b, 2, 0.6f, 2.f);
    CheckGradient(&ws, Op("Div", {"A", "B"}, {"A"}), {0, 1});
  }
  GradientWrapper gradient;
  gradient.dense = "B_grad";
  EXPECT_THROW(GetGradientForOp(Op("Div", {"A", "B"}, {"B"}), {gradient}), EnforceNotMet);
}

TEST(ArithmeticOpTest, Integers) {
  Workspace ws;
  Feed<int64_t>(&ws, "A", {3}, {7, -7, INT64_MIN});
  Feed<int64_t>(&ws, "B", {3}, {2, 2, -1});
  RunOp(&ws, Op("Div", {"A", "B"}, {"C"}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "C"), (std::vector<int64_t>{3, -3, INT64_MIN}));
  Feed<int64_t>(&ws, "B", {1}, {0});
  ExpectThrows(&ws, Op("Div", {"A", "B"}, {"C"}), "division by zero");
}

TEST(ArithmeticOpTest, BFloat16RoundsOnce) {
  Workspace ws;
  Feed<bfloat16>(&ws, "A", {2}, {ToBFloat16(1.f), ToBFloat16(3.f)});
  Feed<bfloat16>(&ws, "B", {1}, {ToBFloat16(1.f / 512)});
  RunOp(&ws, Op("Add", {"A", "B"}, {"C"}));
  EXPECT_EQ(ToFloat(FetchValues<bfloat16>(ws, "C")[0]), 1.f);
  RunOp(&ws, Op("Mul", {"A", "B"}, {"C"}));
  EXPECT_EQ(ToFloat(FetchValues<bfloat16>(ws, "C")[1]), 3.f / 512);
}

TEST(ArithmeticOpTest, RefusesBadInput) {
  Workspace ws;
  FeedRandom(&ws, "A", {2, 3}, 1);
  FeedRandom(&ws, "B", {2}, 2);
  FeedRandom(&ws, "long", {2, 3, 4}, 2);
  Feed<int32_t>(&ws, "int", {2, 3}, {1, 2, 3, 4, 5, 6});
  const auto broadcast = MakeArgument("broadcast", 1);
  ExpectThrows(&ws, Op("Add", {"A", "B"}, {"C"}), "cannot be broadcast");
  ExpectThrows(&ws, Op("Add", {"A", "B"}, {"C"}, {broadcast}), "mismatch");
  ExpectThrows(&ws, Op("Add", {"A", "long"}, {"C"}, {broadcast}), "must be a part");
  ExpectThrows(&ws, Op("Add", {"A", "B"}, {"C"}, {broadcast, MakeArgument("axis", 5)}),
               "out of range");
  ExpectThrows(&ws, Op("Add", {"A", "int"}, {"C"}), "where float is needed");
  const auto axis_str = [](const char* text) {
    return MakeArgument("axis_str", std::string(text));
  };
  ExpectThrows(&ws, Op("Add", {"A", "B"}, {"C"}, {broadcast, axis_str("X")}), "not part of order");
  ExpectThrows(&ws, Op("Add", {"A", "B"}, {"C"}, {broadcast, axis_str("NC")}), "one letter");
  ExpectThrows(&ws, Op("Add", {"A", "B"}, {"C"}, {axis_str("C"), MakeArgument("axis", 1)}),
               "together");
}

TEST(BinaryGradientTest, SumsOverNothingAreZero) {
  Workspace ws;
  Feed<float>(&ws, "A", {1}, {3});
  Feed<float>(&ws, "B", {0, 2}, {});
  Feed<float>(&ws, "dC", {0, 2}, {});
  for (const char* type : {"Add", "Sub", "Mul", "Div"}) {
    Feed<float>(&ws, "A_grad", {1}, {7});
    GradientWrapper dense;
    dense.dense = "dC";
    const OperatorDef op = Op(type, {"A", "B"}, {"C"});
    RunOp(&ws, op);
    for (const OperatorDef& gradient : GetGradientForOp(op, {dense}).ops) RunOp(&ws, gradient);
    ExpectTensor(ws, "A_grad", {1}, {0});
  }
}

}  // namespace
}  // namespace caffe2::testing
