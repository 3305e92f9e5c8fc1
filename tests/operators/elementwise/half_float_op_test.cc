#include <bit>
#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

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

// Rows convert as single elements do. A device may turn a NaN into another one.
TEST(HalfFloatOpTest, RowsConvertAsElements) {
  Workspace ws;
  std::vector<float16> halves;
  std::vector<float> floats;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    halves.push_back({static_cast<uint16_t>(bits)});
    const float value = ToFloat(halves.back());
    const auto at = std::bit_cast<uint32_t>(value);
    for (const uint32_t other : {at, at + 0x0fff, at + 0x1000, at + 0x1001, bits << 16 | bits}) {
      floats.push_back(std::bit_cast<float>(other));
    }
  }
  for (const int64_t n : {1, 7, 8, 9, 513, 0x10000}) {
    Feed(&ws, "H", {n}, std::vector<float16>(halves.end() - n, halves.end()));
    Feed(&ws, "F", {5 * n}, std::vector<float>(floats.end() - 5 * n, floats.end()));
    const auto f = FetchValues<float>(ws, "F");
    const auto h = FetchValues<float16>(ws, "H");
    const std::vector<Argument> to_float{MakeArgument<int>("to", TensorProto::FLOAT)},
        to_half{MakeArgument<int>("to", TensorProto::FLOAT16)};
    for (const OperatorDef& op :
         {Op("HalfToFloat", {"H"}, {"Y"}), Op("Cast", {"H"}, {"Y"}, to_float)}) {
      RunOp(&ws, op);
      ExpectEach<float>(ws, "Y", [&](float y, int64_t i) {
        const float x = ToFloat(h[i]);
        return std::isnan(x) ? std::isnan(y)
                             : std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y);
      });
    }
    for (const OperatorDef& op :
         {Op("FloatToHalf", {"F"}, {"Z"}), Op("Cast", {"F"}, {"Z"}, to_half)}) {
      RunOp(&ws, op);
      ExpectEach<float16>(ws, "Z", [&](float16 z, int64_t i) {
        return TestsCuda() && std::isnan(f[i]) ? std::isnan(ToFloat(z)) : z == ToFloat16(f[i]);
      });
    }
  }
}

// More elements than a block of them, and no whole number of vectors.
TEST(HalfFloatOpTest, FunctionsOfHalvesAreTheOnesOfFloats) {
  Workspace ws;
  for (const int64_t n : {1, 9, 512, 1203, 100003}) {
    std::vector<float16> a, b, sum, product, triple;
    for (int64_t i = 0; i < n; ++i) {
      a.push_back(ToFloat16(static_cast<float>(i % 2001 - 1000) / 7));
      b.push_back(ToFloat16(static_cast<float>(i % 1013 - 500) / 3));
      const float x = ToFloat(a.back()), y = ToFloat(b.back());
      sum.push_back(ToFloat16(x + y));
      product.push_back(ToFloat16(x * y));
      triple.push_back(ToFloat16(x + y + x));
    }
    Feed(&ws, "A", {n}, a);
    Feed(&ws, "B", {n}, b);
    RunOp(&ws, Op("Add", {"A", "B"}, {"S"}));
    RunOp(&ws, Op("Mul", {"A", "B"}, {"P"}));
    RunOp(&ws, Op("Sum", {"A", "B", "A"}, {"T"}));
    RunOp(&ws, Op("GT", {"A", "B"}, {"G"}));
    RunOp(&ws, Op("Add", {"A", "B"}, {"B"}));  // in place
    EXPECT_EQ(FetchValues<float16>(ws, "S"), sum);
    EXPECT_EQ(FetchValues<float16>(ws, "B"), sum);
    EXPECT_EQ(FetchValues<float16>(ws, "P"), product);
    EXPECT_EQ(FetchValues<float16>(ws, "T"), triple);
    ExpectEach<bool>(ws, "G",
                     [&](bool g, int64_t i) { return g == (ToFloat(a[i]) > ToFloat(b[i])); });
  }
}

}  // namespace
}  // namespace caffe2::testing
