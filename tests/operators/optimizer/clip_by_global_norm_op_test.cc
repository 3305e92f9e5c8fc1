#include <cmath>
#include <limits>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

OperatorDef Clip(std::vector<std::string> gradients, float max_norm) {
  std::vector<std::string> outputs = gradients;
  outputs.push_back("norm");
  return Op("ClipByGlobalNorm", gradients, outputs, {MakeArgument("max_norm", max_norm)});
}

TEST(ClipByGlobalNormTest, ScalesAllByOneFactor) {
  Workspace ws;
  Feed<float>(&ws, "a", {2}, {3, 0});
  Feed<float>(&ws, "b", {1, 1}, {-4});
  Feed<float>(&ws, "none", {0}, {});
  RunOp(&ws, Clip({"a", "b", "none"}, 2.5f));
  ExpectTensor(ws, "norm", {1}, {5});
  ExpectTensor(ws, "a", {2}, {1.5f, 0});
  ExpectTensor(ws, "b", {1, 1}, {-2});
}

TEST(ClipByGlobalNormTest, LeavesSmallGradientsAsTheyAre) {
  Workspace ws;
  Feed<float>(&ws, "a", {2}, {0.6f, 0.8f});
  for (const float max_norm : {1.5f, 1.00001f}) {
    RunOp(&ws, Clip({"a"}, max_norm));
    EXPECT_EQ(FetchValues<float>(ws, "a"), (Floats{0.6f, 0.8f}));
  }
  Feed<float>(&ws, "a", {2}, {0, 0});
  RunOp(&ws, Clip({"a"}, 1));
  ExpectTensor(ws, "a", {2}, {0, 0});
  ExpectTensor(ws, "norm", {1}, {0});
}

// More arrays than a kernel takes, some of them longer than what one thread sums.
TEST(ClipByGlobalNormTest, SumsManyAndLongArrays) {
  Workspace ws;
  std::vector<std::string> names;
  std::vector<Floats> values;
  double squares = 0;
  for (int i = 0; i < 70; ++i) {
    names.push_back("g" + std::to_string(i));
    const int64_t n = i % 30 == 7 ? 40'003 : i;
    values.push_back(RandomValues(n, 100 + i));
    Feed<float>(&ws, names.back(), {n}, values.back());
    for (const float value : values.back()) squares += static_cast<double>(value) * value;
  }
  RunOp(&ws, Clip(names, 3));
  const double norm = std::sqrt(squares);
  ExpectNear(FetchValues<float>(ws, "norm"), {norm}, 0, 1e-6);
  for (int i = 0; i < 70; ++i) {
    std::vector<double> expected;
    for (const float value : values[i]) expected.push_back(value * 3 / norm);
    ExpectNear(FetchValues<float>(ws, names[i]), expected, 1e-7);
  }
}

// The square of the norm needs double precision.
TEST(ClipByGlobalNormTest, LargeGradientsHaveANorm) {
  Workspace ws;
  Feed<float>(&ws, "a", {2}, {3e30f, 4e30f});
  RunOp(&ws, Clip({"a"}, 5));
  EXPECT_FLOAT_EQ(FetchValues<float>(ws, "norm")[0], 5e30f);
  ExpectTensor(ws, "a", {2}, {3, 4});
}

// So that what looks for them afterwards still finds them.
TEST(ClipByGlobalNormTest, GradientsWithoutAFiniteNormStay) {
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    Workspace ws;
    Feed<float>(&ws, "a", {2}, {bad, 8});
    RunOp(&ws, Clip({"a"}, 5));
    EXPECT_FALSE(std::isfinite(FetchValues<float>(ws, "a")[0]));
    EXPECT_EQ(FetchValues<float>(ws, "a")[1], 8);
    EXPECT_FALSE(std::isfinite(FetchValues<float>(ws, "norm")[0]));
  }
}

TEST(ClipByGlobalNormTest, RefusesBadArguments) {
  Workspace ws;
  Feed<float>(&ws, "a", {1}, {1});
  ExpectThrows(&ws, Clip({"a"}, 0), "argument max_norm must be positive, found 0");
  ExpectThrows(&ws, Op("ClipByGlobalNorm", {"a"}, {"a"}, {MakeArgument("max_norm", 1.f)}),
               "outputs");
  Feed<int>(&ws, "i", {1}, {1});
  ExpectThrows(&ws, Clip({"i"}, 1), "int");
}

}  // namespace
}  // namespace caffe2::testing
