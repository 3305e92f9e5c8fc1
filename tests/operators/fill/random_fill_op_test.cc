#include <algorithm>
#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

OperatorDef Seeded(OperatorDef def, uint32_t seed = 7) {
  def.mutable_device_option()->set_random_seed(seed);
  return def;
}

struct Moments {
  double mean = 0, variance = 0;
  float min, max;
};
// Each caller compares them with the distribution that `values` come from.
Moments MomentsOf(const Fetched<float>& values) {
  NoteCompared(values.origin);
  Moments m;
  m.min = *std::min_element(values.begin(), values.end());
  m.max = *std::max_element(values.begin(), values.end());
  for (float v : values) m.mean += v / values.size();
  for (float v : values) m.variance += (v - m.mean) * (v - m.mean) / values.size();
  return m;
}

Moments FillMoments(const std::string& type, const std::vector<int64_t>& shape,
                    std::vector<Argument> args = {}) {
  Workspace ws;
  args.push_back(MakeArgument("shape", shape));
  RunOp(&ws, Seeded(Op(type, {}, {"Y"}, args)));
  EXPECT_EQ(Fetch(ws, "Y").sizes(), shape);
  return MomentsOf(FetchValues<float>(ws, "Y"));
}

TEST(FillerOpTest, RandomFillsHaveTheirDistribution) {
  Moments m =
      FillMoments("UniformFill", {20000}, {MakeArgument("min", -1.f), MakeArgument("max", 3.f)});
  EXPECT_GE(m.min, -1.f);
  EXPECT_LT(m.max, 3.f);
  EXPECT_NEAR(m.mean, 1.0, 0.05);
  EXPECT_NEAR(m.variance, 16.0 / 12, 0.05);
  m = FillMoments("GaussianFill", {20000}, {MakeArgument("mean", 2.f), MakeArgument("std", 3.f)});
  EXPECT_NEAR(m.mean, 2.0, 0.1);
  EXPECT_NEAR(m.variance, 9.0, 0.3);
  // Xavier: variance scale^2 / 3 = 1 / fan_in = 1 / (5 * 4 * 25).
  m = FillMoments("XavierFill", {50, 20, 5, 5});
  EXPECT_NEAR(m.mean, 0.0, 0.001);
  EXPECT_NEAR(m.variance * 500, 1.0, 0.05);
  EXPECT_LE(m.max, std::sqrt(3.f / 500));
  // MSRA: variance 2 / fan_out = 2 / (50 * 25).
  m = FillMoments("MSRAFill", {50, 20, 5, 5});
  EXPECT_NEAR(m.variance * 1250, 2.0, 0.1);
  // The same filter with its channels last.
  m = FillMoments("MSRAFill", {50, 5, 5, 20}, {MakeArgument("order", std::string("NHWC"))});
  EXPECT_NEAR(m.variance * 1250, 2.0, 0.1);
}

// Vectors and threads do not change a bit of the generator's own numbers.
TEST(FillerOpTest, NormalFillsAreTheNumbersOfTheGenerator) {
  constexpr int64_t kCount = 300001;
  Workspace ws;
  const auto op = CreateOperator(Seeded(Op("GaussianFill", {}, {"Y"},
                                           {MakeArgument("shape", std::vector<int64_t>{kCount}),
                                            MakeArgument("mean", 0.5f), MakeArgument("std", 3.f)})),
                                 &ws);
  RandomGenerator random(7);
  for (int run = 0; run < 2; ++run) {
    ASSERT_TRUE(op->Run());
    std::vector<float> expected;
    for (int64_t i = 0; i < kCount; ++i) expected.push_back(0.5f + 3.f * random.Normal());
    EXPECT_EQ(FetchValues<float>(ws, "Y"), expected);
  }
  RunOp(&ws, Seeded(Op("MSRAFill", {}, {"Y"}, {MakeArgument("shape", Shape{50, 8, 3})})));
  std::vector<float> expected;
  random = RandomGenerator(7);
  const float scale = std::sqrt(2.f / 150);
  for (int i = 0; i < 1200; ++i) expected.push_back(scale * random.Normal());
  EXPECT_EQ(FetchValues<float>(ws, "Y"), expected);
}

TEST(FillerOpTest, UniformIntFillReachesBothEnds) {
  Workspace ws;
  RunOp(&ws, Seeded(Op("UniformIntFill", {}, {"Y"},
                       {MakeArgument("shape", std::vector<int64_t>{1000}), MakeArgument("min", -1),
                        MakeArgument("max", 2)})));
  ExpectEach<int32_t>(ws, "Y", [](int32_t value, int64_t) { return value >= -1 && value <= 2; });
  const auto values = FetchValues<int32_t>(ws, "Y");
  for (int wanted = -1; wanted <= 2; ++wanted) {
    EXPECT_NEAR(std::count(values.begin(), values.end(), wanted), 250, 60) << wanted;
  }
}

TEST(FillerOpTest, RangeOfRandomFillsMayComeFromInputs) {
  Workspace ws;
  Feed<float>(&ws, "like", {1000}, std::vector<float>(1000));
  Feed<float>(&ws, "min", {1}, {4});
  Feed<float>(&ws, "max", {1}, {5});
  RunOp(&ws, Seeded(Op("UniformFill", {"like", "min", "max"}, {"Y"})));
  const Moments m = MomentsOf(FetchValues<float>(ws, "Y"));
  EXPECT_GE(m.min, 4.f);
  EXPECT_LE(m.max, 5.f);
  ExpectThrows(&ws, Op("UniformFill", {"like", "max", "min"}, {"Y"}),
               "min (5) is larger than max (4)");
  ExpectThrows(&ws, Op("UniformFill", {"like", "min", "max"}, {"Y"}, {MakeArgument("min", 1.f)}),
               "the inputs min and max cannot be used together");
}

TEST(FillerOpTest, IntegersFromAnEmptyRangeAreNone) {
  Workspace ws;
  Feed<float>(&ws, "like", {5, 2}, std::vector<float>(10));
  Feed<int32_t>(&ws, "min", {1}, {4});
  Feed<int32_t>(&ws, "max", {1}, {3});
  RunOp(&ws, Op("UniformIntFill", {"like", "min", "max"}, {"Y"}), true);
  EXPECT_EQ(Fetch(ws, "Y").sizes(), (std::vector<int64_t>{0, 2}));
  ExpectThrows(
      &ws,
      Op("UniformIntFill", {}, {"Y"}, {MakeArgument("shape", Longs{2, 3}), MakeArgument("min", 2)}),
      "min (2) is larger than max (1)");
}

TEST(FillerOpTest, UniformFillOfHalfPrecision) {
  Workspace ws;
  RunOp(&ws, Seeded(Op("Float16UniformFill", {}, {"Y"},
                       {MakeArgument("shape", std::vector<int64_t>{1000}), MakeArgument("min", 2.f),
                        MakeArgument("max", 6.f)})));
  RunOp(&ws, Op("HalfToFloat", {"Y"}, {"Z"}));
  const Moments m = MomentsOf(FetchValues<float>(ws, "Z"));
  EXPECT_GE(m.min, 2.f);
  EXPECT_LE(m.max, 6.f);
  EXPECT_NEAR(m.mean, 4, 0.2);
  EXPECT_NEAR(m.variance, 16 / 12., 0.2);
}

TEST(FillerOpTest, SeedFixesTheValues) {
  const auto draw = [](uint32_t seed) {
    Workspace ws;
    RunOp(&ws, Seeded(Op("GaussianFill", {}, {"Y"}, {MakeArgument("shape", Longs{2, 3})}), seed));
    return FetchValues<float>(ws, "Y");
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

TEST(FillerOpTest, WeightFillsNeedAFan) {
  Workspace ws;
  ExpectThrows(&ws, Op("XavierFill", {}, {"Y"}), "fan");
  ExpectThrows(&ws, Op("MSRAFill", {}, {"Y"}, {MakeArgument("shape", std::vector<int64_t>{3})}),
               "fan");
  ExpectThrows(&ws,
               Op("GaussianFill", {}, {"Y"},
                  {MakeArgument("shape", Longs{2, 3}), MakeArgument("std", -1.f)}),
               "negative");
  RunOp(&ws, Op("XavierFill", {}, {"Y"}, {MakeArgument("shape", std::vector<int64_t>{0, 4})}));
  EXPECT_EQ(Fetch(ws, "Y").numel(), 0);
}

}  // namespace
}  // namespace caffe2::testing
