#include <algorithm>
#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

const Argument kShape23 = MakeArgument("shape", std::vector<int64_t>{2, 3});

OperatorDef Seeded(OperatorDef def, uint32_t seed = 7) {
  def.mutable_device_option()->set_random_seed(seed);
  return def;
}

TEST(FillerOpTest, ShapeComesFromArgumentOrInput) {
  Workspace ws;
  RunOp(&ws, Op("ConstantFill", {}, {"Y"}, {kShape23, MakeArgument("value", 2.5f)}));
  ExpectTensor(ws, "Y", {2, 3}, std::vector<float>(6, 2.5f));
  RunOp(&ws, Op("ConstantFill", {}, {"Y"}));
  ExpectTensor(ws, "Y", {}, {0});

  FeedRandom(&ws, "like", {3, 1}, 1);
  RunOp(&ws, Op("ConstantFill", {"like"}, {"Y"}, {MakeArgument("value", 1.f)}));
  ExpectTensor(ws, "Y", {3, 1}, {1, 1, 1});
  RunOp(&ws, Op("ConstantFill", {"like"}, {"Y"},
                {MakeArgument("extra_shape", std::vector<int64_t>{2})}));
  ExpectTensor(ws, "Y", {3, 1, 2}, std::vector<float>(6, 0.f));

  Feed<int64_t>(&ws, "shape", {2}, {2, 2});
  RunOp(&ws, Op("ConstantFill", {"shape"}, {"Y"},
                {MakeArgument("input_as_shape", 1),
                 MakeArgument("extra_shape", std::vector<int64_t>{1})}));
  ExpectTensor(ws, "Y", {2, 2, 1}, {0, 0, 0, 0});
}

TEST(FillerOpTest, RefusesBadShapes) {
  Workspace ws;
  FeedRandom(&ws, "like", {2, 1}, 1);
  Feed<int64_t>(&ws, "negative", {2}, {2, -2});
  const auto input_as_shape = MakeArgument("input_as_shape", 1);
  const auto shape = [](std::vector<int64_t> dims) { return MakeArgument("shape", dims); };
  ExpectThrows(&ws, Op("ConstantFill", {"like"}, {"Y"}, {kShape23}), "together");
  ExpectThrows(&ws, Op("ConstantFill", {}, {"Y"}, {input_as_shape}), "needs an input");
  ExpectThrows(&ws, Op("GaussianFill", {}, {"Y"}, {MakeArgument("shape", 32)}), "must be a list");
  ExpectThrows(&ws, Op("ConstantFill", {}, {"Y"}, {MakeArgument("extra_shape", 1)}),
               "needs an input");
  ExpectThrows(&ws, Op("ConstantFill", {"negative"}, {"Y"}, {input_as_shape}), "negative");
  ExpectThrows(&ws, Op("ConstantFill", {"like"}, {"Y"}, {input_as_shape}), "one-dimensional");
  ExpectThrows(&ws, Op("ConstantFill", {}, {"Y"}, {shape({2, -1})}), "negative");
  ExpectThrows(&ws, Op("ConstantFill", {}, {"Y"}, {shape({int64_t{1} << 40, int64_t{1} << 40})}),
               "overflows");
}

template <typename T>
void ExpectConstant(TensorProto::DataType type, const Argument& value, const T& expected) {
  Workspace ws;
  RunOp(&ws, Op("ConstantFill", {}, {"Y"},
                {MakeArgument("shape", std::vector<int64_t>{2}),
                 MakeArgument("dtype", static_cast<int>(type)), value}));
  const std::vector<T> wanted(2, expected);
  EXPECT_EQ(FetchValues<T>(ws, "Y"), wanted) << TensorProto::DataType_Name(type);
}

TEST(FillerOpTest, ConstantFillOfEveryType) {
  ExpectConstant<float>(TensorProto::FLOAT, MakeArgument("value", 3), 3.f);
  ExpectConstant<double>(TensorProto::DOUBLE, MakeArgument("value", 0.5f), 0.5);
  ExpectConstant<float16>(TensorProto::FLOAT16, MakeArgument("value", 0.5f), ToFloat16(0.5f));
  ExpectConstant<bfloat16>(TensorProto::BFLOAT16, MakeArgument("value", 0.5f), ToBFloat16(0.5f));
  ExpectConstant<int8_t>(TensorProto::INT8, MakeArgument("value", -3), -3);
  ExpectConstant<int16_t>(TensorProto::INT16, MakeArgument("value", -300), -300);
  ExpectConstant<int32_t>(TensorProto::INT32, MakeArgument("value", -3), -3);
  ExpectConstant<int64_t>(TensorProto::INT64, MakeArgument("value", int64_t{1} << 40),
                          int64_t{1} << 40);
  ExpectConstant<uint8_t>(TensorProto::UINT8, MakeArgument("value", 255), 255);
  ExpectConstant<uint16_t>(TensorProto::UINT16, MakeArgument("value", 65535), 65535);
  ExpectConstant<std::string>(TensorProto::STRING, MakeArgument("value", std::string("text")),
                              "text");
  Workspace ws;
  RunOp(&ws, Op("ConstantFill", {}, {"Y"},
                {MakeArgument("shape", std::vector<int64_t>{1}), MakeArgument("value", true),
                 MakeArgument("dtype", std::string("bool"))}));
  EXPECT_TRUE(*Fetch(ws, "Y").data<bool>());
  // Without dtype an integer value makes int64.
  RunOp(&ws, Op("ConstantFill", {}, {"Y"},
                {MakeArgument("shape", std::vector<int64_t>{1}), MakeArgument("value", 5)}));
  EXPECT_EQ(*Fetch(ws, "Y").data<int64_t>(), 5);
}

TEST(FillerOpTest, ConstantFillRefusesBadValues) {
  Workspace ws;
  const auto dtype = [](int type) { return MakeArgument("dtype", type); };
  ExpectThrows(&ws, Op("ConstantFill", {}, {"Y"}, {dtype(99)}), "no data type");
  ExpectThrows(&ws, Op("ConstantFill", {}, {"Y"}, {dtype(TensorProto::UNDEFINED)}), "no data type");
  ExpectThrows(
      &ws, Op("ConstantFill", {}, {"Y"}, {dtype(TensorProto::UINT8), MakeArgument("value", 256)}),
      "out of range");
  ExpectThrows(&ws,
               Op("ConstantFill", {}, {"Y"},
                  {MakeArgument("dtype", std::string("floaty")), MakeArgument("value", 256)}),
               "no data type");
}

TEST(FillerOpTest, GivenTensorFills) {
  Workspace ws;
  const std::vector<float> floats = {1, 2, 3, 4, 5, 6};
  const std::vector<int64_t> ints = {1, 0, 3, 4, 5, 6};
  RunOp(&ws, Op("GivenTensorFill", {}, {"Y"}, {kShape23, MakeArgument("values", floats)}));
  ExpectTensor(ws, "Y", {2, 3}, floats);
  RunOp(&ws, Op("GivenTensorFill", {}, {"Y"},
                {kShape23, MakeArgument("values", floats),
                 MakeArgument("dtype", static_cast<int>(TensorProto::BFLOAT16))}));
  EXPECT_EQ(ToFloat(FetchValues<bfloat16>(ws, "Y")[5]), 6.f);
  RunOp(&ws, Op("GivenTensorDoubleFill", {}, {"Y"}, {kShape23, MakeArgument("values", floats)}));
  EXPECT_EQ(FetchValues<double>(ws, "Y")[5], 6.0);
  RunOp(&ws, Op("GivenTensorIntFill", {}, {"Y"}, {kShape23, MakeArgument("values", ints)}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y")[3], 4);
  RunOp(&ws, Op("GivenTensorInt16Fill", {}, {"Y"}, {kShape23, MakeArgument("values", ints)}));
  EXPECT_EQ(FetchValues<int16_t>(ws, "Y")[3], 4);
  RunOp(&ws, Op("GivenTensorInt64Fill", {}, {"Y"}, {kShape23, MakeArgument("values", ints)}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), ints);
  RunOp(&ws, Op("GivenTensorBoolFill", {}, {"Y"}, {kShape23, MakeArgument("values", ints)}));
  EXPECT_TRUE(Fetch(ws, "Y").data<bool>()[0]);
  EXPECT_FALSE(Fetch(ws, "Y").data<bool>()[1]);
  const std::vector<std::string> texts = {"a", std::string("\0b", 2)};
  RunOp(&ws, Op("GivenTensorStringFill", {}, {"Y"},
                {MakeArgument("shape", std::vector<int64_t>{2}), MakeArgument("values", texts)}));
  EXPECT_EQ(FetchValues<std::string>(ws, "Y"), texts);
  RunOp(&ws, Op("GivenTensorByteStringToUInt8Fill", {}, {"Y"},
                {MakeArgument("shape", std::vector<int64_t>{3}),
                 MakeArgument("values", std::vector<std::string>{"\x01\x7f\xff"})}));
  EXPECT_EQ(FetchValues<uint8_t>(ws, "Y"), (std::vector<uint8_t>{1, 127, 255}));
  ExpectThrows(&ws,
               Op("GivenTensorFill", {}, {"Y"},
                  {MakeArgument("shape", std::vector<int64_t>{5}), MakeArgument("values", floats)}),
               "does not fit");
}

struct Moments {
  double mean = 0, variance = 0;
  float min, max;
};
Moments MomentsOf(const std::vector<float>& values) {
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

TEST(FillerOpTest, UniformIntFillReachesBothEnds) {
  Workspace ws;
  RunOp(&ws, Seeded(Op("UniformIntFill", {}, {"Y"},
                       {MakeArgument("shape", std::vector<int64_t>{1000}), MakeArgument("min", -1),
                        MakeArgument("max", 2)})));
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
  ExpectThrows(&ws, Op("UniformFill", {"like", "max", "min"}, {"Y"}), "range is empty");
  ExpectThrows(&ws, Op("UniformFill", {"like", "min", "max"}, {"Y"}, {MakeArgument("min", 1.f)}),
               "arguments and inputs");
}

TEST(FillerOpTest, IntegersFromAnEmptyRangeAreNone) {
  Workspace ws;
  Feed<float>(&ws, "like", {5, 2}, std::vector<float>(10));
  Feed<int32_t>(&ws, "min", {1}, {4});
  Feed<int32_t>(&ws, "max", {1}, {3});
  RunOp(&ws, Op("UniformIntFill", {"like", "min", "max"}, {"Y"}), true);
  EXPECT_EQ(Fetch(ws, "Y").sizes(), (std::vector<int64_t>{0, 2}));
  ExpectThrows(&ws, Op("UniformIntFill", {}, {"Y"}, {kShape23, MakeArgument("min", 2)}),
               "range is empty");
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

TEST(FillerOpTest, ConstantMayComeFromAnInput) {
  Workspace ws;
  Feed<float>(&ws, "like", {2, 1}, {0, 0});
  Feed<int32_t>(&ws, "v", {1}, {7});
  const auto type = MakeArgument("dtype", static_cast<int>(TensorProto::INT32));
  RunOp(&ws, Op("ConstantFill", {"like", "v"}, {"Y"}, {type}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), (std::vector<int32_t>{7, 7}));
  ExpectThrows(&ws, Op("ConstantFill", {"like", "v"}, {"Y"}), "one element of float");
  ExpectThrows(&ws, Op("ConstantFill", {"like", "v"}, {"Y"}, {type, MakeArgument("value", 1)}),
               "argument and an input");
  Feed<int32_t>(&ws, "v", {2}, {7, 8});
  ExpectThrows(&ws, Op("ConstantFill", {"like", "v"}, {"Y"}, {type}), "one element of int");
}

TEST(FillerOpTest, SeedFixesTheValues) {
  const auto draw = [](uint32_t seed) {
    Workspace ws;
    RunOp(&ws, Seeded(Op("GaussianFill", {}, {"Y"}, {kShape23}), seed));
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
  ExpectThrows(&ws, Op("GaussianFill", {}, {"Y"}, {kShape23, MakeArgument("std", -1.f)}),
               "negative");
  RunOp(&ws, Op("XavierFill", {}, {"Y"}, {MakeArgument("shape", std::vector<int64_t>{0, 4})}));
  EXPECT_EQ(Fetch(ws, "Y").numel(), 0);
}

}  // namespace
}  // namespace caffe2::testing
