// Functions of one number, Clip, Pow and the half-precision conversions.
#include <cmath>
#include <functional>
#include <map>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

struct Function {
  std::function<double(double)> reference;
  float low, high;  // the domain that is tested
  bool gradient;
};

const std::map<std::string, Function>& Functions() {
  static const std::map<std::string, Function> functions = {
      {"Negative", {[](double x) { return -x; }, -2, 2, true}},
      {"Abs", {[](double x) { return std::fabs(x); }, -2, 2, true}},
      {"Sign", {[](double x) { return (x > 0) - (x < 0); }, -2, 2, false}},
      {"Sqr", {[](double x) { return x * x; }, -2, 2, true}},
      {"Exp", {[](double x) { return std::exp(x); }, -2, 2, true}},
      {"Log", {[](double x) { return std::log(x); }, 0.5, 3, true}},
      {"Sqrt", {[](double x) { return std::sqrt(x); }, 0.5, 3, true}},
      {"Sin", {[](double x) { return std::sin(x); }, -4, 4, true}},
      {"Cos", {[](double x) { return std::cos(x); }, -4, 4, true}},
      {"Ceil", {[](double x) { return std::ceil(x); }, -4, 4, false}},
      {"Floor", {[](double x) { return std::floor(x); }, -4, 4, false}}};
  return functions;
}

TEST(UnaryMathOpTest, MatchesReference) {
  for (const auto& [type, function] : Functions()) {
    for (const int64_t n : {int64_t{0}, int64_t{7}, int64_t{40000}}) {
      Workspace ws;
      FeedRandom(&ws, "X", {n}, 3, function.low, function.high);
      std::vector<float> expected;
      for (float x : FetchValues<float>(ws, "X")) {
        expected.push_back(static_cast<float>(function.reference(x)));
      }
      RunOp(&ws, Op(type, {"X"}, {"Y"}));
      ExpectTensor(ws, "Y", {n}, expected);
      RunOp(&ws, Op(type, {"X"}, {"X"}));
      ExpectTensor(ws, "X", {n}, expected);
    }
  }
}

TEST(UnaryMathOpTest, Gradients) {
  for (const auto& [type, function] : Functions()) {
    Workspace ws;
    FeedRandom(&ws, "X", {2, 3}, 3, function.low, function.high, 0.1f);
    GradientWrapper dense;
    dense.dense = "dY";
    if (function.gradient) {
      CheckGradient(&ws, Op(type, {"X"}, {"Y"}), {0});
    } else {
      EXPECT_THROW(GetGradientForOp(Op(type, {"X"}, {"Y"}), {dense}), EnforceNotMet);
    }
  }
  GradientWrapper dense;
  dense.dense = "dY";
  EXPECT_THROW(GetGradientForOp(Op("Sqr", {"X"}, {"X"}), {dense}), EnforceNotMet);
}

TEST(UnaryMathOpTest, OtherTypesAndSpecialValues) {
  Workspace ws;
  Feed<int64_t>(&ws, "X", {3}, {-3, 0, 4});
  RunOp(&ws, Op("Abs", {"X"}, {"Y"}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), (std::vector<int64_t>{3, 0, 4}));
  RunOp(&ws, Op("Sign", {"X"}, {"Y"}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), (std::vector<int64_t>{-1, 0, 1}));
  ExpectThrows(&ws, Op("Exp", {"X"}, {"Y"}), "not supported");
  Feed<float>(&ws, "X", {2}, {-1.f, 0.f});
  RunOp(&ws, Op("Log", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {2}, {NAN, -INFINITY});
  Feed<bfloat16>(&ws, "X", {1}, {ToBFloat16(4.f)});
  RunOp(&ws, Op("Sqrt", {"X"}, {"Y"}));
  EXPECT_EQ(ToFloat(FetchValues<bfloat16>(ws, "Y")[0]), 2.f);
}

TEST(ClipOpTest, LimitsAndPassesNan) {
  Workspace ws;
  Feed<float>(&ws, "X", {5}, {-3, -0.5f, 0.25f, 9, NAN});
  const std::vector<Argument> bounds = {MakeArgument("min", -1.f), MakeArgument("max", 1.f)};
  RunOp(&ws, Op("Clip", {"X"}, {"Y"}, bounds));
  ExpectTensor(ws, "Y", {5}, {-1, -0.5f, 0.25f, 1, NAN});
  RunOp(&ws, Op("Clip", {"X"}, {"X"}, {MakeArgument("min", 0.f)}));
  ExpectTensor(ws, "X", {5}, {0, 0, 0.25f, 9, NAN});
  Feed<float>(&ws, "X", {4}, {-3, -0.5f, 0.25f, 9});
  CheckGradient(&ws, Op("Clip", {"X"}, {"Y"}, bounds), {0});
  ExpectThrows(&ws, Op("Clip", {"X"}, {"Y"}, {MakeArgument("min", 1.f), MakeArgument("max", 0.f)}),
               "leave nothing");
}

TEST(PowOpTest, ScalarAndTensorExponents) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 2}, {1, 2, 3, 4});
  const auto exponent = [](float value) { return MakeArgument("exponent", value); };
  RunOp(&ws, Op("Pow", {"X"}, {"Y"}, {exponent(2)}));
  ExpectTensor(ws, "Y", {2, 2}, {1, 4, 9, 16});
  RunOp(&ws, Op("Pow", {"X"}, {"Y"}, {exponent(-0.5f)}));
  ExpectTensor(ws, "Y", {2, 2}, {1, 0.70710678f, 0.57735027f, 0.5f});
  Feed<float>(&ws, "E", {2}, {3, 0});
  RunOp(&ws, Op("Pow", {"X", "E"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 2}, {1, 1, 27, 1});
  RunOp(&ws, Op("Pow", {"X", "E"}, {"Y"}, {MakeArgument("broadcast", 1), MakeArgument("axis", 0)}));
  ExpectTensor(ws, "Y", {2, 2}, {1, 8, 1, 1});
  ExpectThrows(&ws, Op("Pow", {"X"}, {"Y"}), "neither");
}

TEST(PowOpTest, Gradients) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3}, 1, 0.5f, 2.f);
  FeedRandom(&ws, "E", {3}, 2, 0.5f, 2.f);
  CheckGradient(&ws, Op("Pow", {"X"}, {"Y"}, {MakeArgument("exponent", 2.5f)}), {0});
  CheckGradient(&ws, Op("Pow", {"X"}, {"Y"}, {MakeArgument("exponent", 2.f)}), {0});
  CheckGradient(&ws, Op("Pow", {"X", "E"}, {"Y"}), {0, 1});
  CheckGradient(&ws, Op("Pow", {"X", "E"}, {"Y"}, {MakeArgument("broadcast", 1)}), {0, 1});
}

TEST(HalfFloatOpTest, RoundTrip) {
  Workspace ws;
  Feed<float>(&ws, "X", {4}, {1.f, 1.0005f, 65520.f, 5.96e-8f});
  RunOp(&ws, Op("FloatToHalf", {"X"}, {"H"}));
  RunOp(&ws, Op("HalfToFloat", {"H"}, {"Y"}));
  ExpectTensor(ws, "Y", {4}, {1.f, 1.0009765625f, INFINITY, 0x1p-24f}, 0, 0);
  ExpectThrows(&ws, Op("FloatToHalf", {"H"}, {"Y"}), "not supported");
  // The gradient goes through float16; these weights are powers of two and survive.
  GradientWrapper dense;
  dense.dense = "dH";
  const GradientOpsMeta meta = GetGradientForOp(Op("FloatToHalf", {"X"}, {"H"}), {dense});
  ASSERT_EQ(meta.ops.size(), 1u);
  EXPECT_EQ(meta.ops[0].type(), "HalfToFloat");
  EXPECT_EQ(GetGradientForOp(Op("HalfToFloat", {"H"}, {"Y"}), {dense}).ops[0].type(),
            "FloatToHalf");
}

}  // namespace
}  // namespace caffe2::testing
