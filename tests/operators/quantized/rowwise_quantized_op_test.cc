#include <array>
#include <cmath>
#include <cstring>

#include "operators/common/element_type.h"
#include "tests/operators/op_test.h"
#include "tests/operators/quantized/rowwise_quantized_test_util.h"

namespace caffe2::testing {
namespace {

TEST_F(RowwiseQuantizedTest, RoundsToLevels) {
  EXPECT_EQ(Fetch(ws, "F").sizes(), (std::vector<int64_t>{4, 11}));
  RunOp(&ws, Op("Fused8BitRowwiseQuantizedToFloat", {"F"}, {"D"}));
  RunOp(&ws, Op("Rowwise8BitQuantizedToFloat", {"Q", "S"}, {"E"}));
  EXPECT_EQ(FetchValues<float>(ws, "D"), FetchValues<float>(ws, "E"));
  const auto x = FetchValues<float>(ws, "X"), s = FetchValues<float>(ws, "S");
  ExpectEach<float>(ws, "D", [&](float level, int64_t i) {
    return std::abs(x[i] - level) <= 0.51f * s[i / 3 * 2];
  });
  Feed<float>(&ws, "same", {1, 2}, {7, 7});
  RunOp(&ws, Op("FloatToFused8BitRowwiseQuantized", {"same"}, {"F"}));
  RunOp(&ws, Op("Fused8BitRowwiseQuantizedToFloat", {"F"}, {"D"}));
  ExpectTensor(ws, "D", {1, 2}, {7, 7});
  Feed<float>(&ws, "tie", {1, 3}, {-1, 0, 1});  // 127.5 goes to the even level
  RunOp(&ws, Op("FloatToFused8BitRowwiseQuantized", {"tie"}, {"F"}));
  const auto f = FetchValues<uint8_t>(ws, "F");
  EXPECT_EQ((std::vector<int>{f[0], f[1], f[2]}), (std::vector<int>{0, 128, 255}));
  Feed<float>(&ws, "bad", {1, 2}, {INFINITY, 7});
  ExpectThrows(&ws, Op("FloatToFused8BitRowwiseQuantized", {"bad"}, {"F"}), "inf");
  Feed<float>(&ws, "bad", {1, 3}, {6, NAN, 7});
  ExpectThrows(&ws, Op("FloatToFused8BitRowwiseQuantized", {"bad"}, {"F"}), "element 1 of a row");
}

TEST_F(RowwiseQuantizedTest, RowsLieAlongTheLastAxis) {
  RunOp(&ws, Op("FloatToFused8BitRowwiseQuantized", {"X"}, {"F"}));
  const auto x = FetchValues<float>(ws, "X");
  const auto f = FetchValues<uint8_t>(ws, "F");
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{2, 2, 3}, {3}}) {
    const auto n = static_cast<int64_t>(dims.size() == 1 ? 3 : 12);
    Feed<float>(&ws, "shaped", dims, {x.begin(), x.begin() + n});
    RunOp(&ws, Op("FloatToFused8BitRowwiseQuantized", {"shaped"}, {"G"}));
    RunOp(&ws, Op("Fused8BitRowwiseQuantizedToFloat", {"G"}, {"H"}));
    EXPECT_EQ(FetchValues<uint8_t>(ws, "G"),
              (std::vector<uint8_t>{f.begin(), f.begin() + n / 3 * 11}));
    EXPECT_EQ(Fetch(ws, "G").size(static_cast<int>(dims.size()) - 1), 11);
    EXPECT_EQ(Fetch(ws, "H").sizes(), dims);
  }
  ExpectThrows(&ws, Op("GatherFused8BitRowwise", {"G", "i"}, {"A"}),
               "the quantized data must be a matrix");
}

TEST_F(RowwiseQuantizedTest, RejectsBadInput) {
  Feed<int32_t>(&ws, "i", {5}, {4, 0, 0, 2, 1});
  ExpectThrows(&ws, Op("SparseLengthsSumFused8BitRowwise", {"F", "i", "n"}, {"A"}), "index 4");
  Feed<uint8_t>(&ws, "short", {4, 7}, std::vector<uint8_t>(28));
  ExpectThrows(&ws, Op("Fused8BitRowwiseQuantizedToFloat", {"short"}, {"A"}),
               "must have at least the 8 bytes of its scale and bias, found 7");
  ExpectThrows(&ws, Op("Rowwise8BitQuantizedToFloat", {"Q", "X"}, {"A"}),
               "scale_bias must be 4 x 2, one row for each row of the data; found shape [4, 3]");
  ExpectThrows(&ws, Op("FloatToRowwiseQuantized8Bits", {"Q"}, {"A", "B"}), "uint8");
}

Fetched<float> FetchHalf(const Workspace& ws, const std::string& name) {
  std::vector<float> values;
  for (const float16 value : FetchValues<float16>(ws, name)) values.push_back(ToFloat(value));
  return {values, ws, name};
}

// Formats of 16-bit scale and bias: their bits, the type in names, and levels.
struct HalfFormat {
  const char *from_float, *from_half, *to_float, *to_half;
  int bits;
};
constexpr HalfFormat kHalfFormats[] = {
    {"FloatToFused8BitRowwiseQuantizedHalfScaleBias",
     "HalfFloatToFused8BitRowwiseQuantizedHalfScaleBias",
     "Fused8BitRowwiseQuantizedHalfScaleBiasToFloat",
     "Fused8BitRowwiseQuantizedHalfScaleBiasToHalfFloat", 8},
    {"FloatToFused4BitRowwiseQuantized", "HalfToFused4BitRowwiseQuantized",
     "Fused4BitRowwiseQuantizedToFloat", "Fused4BitRowwiseQuantizedToHalf", 4},
    {"FloatToFused2BitRowwiseQuantized", "HalfToFused2BitRowwiseQuantized",
     "Fused2BitRowwiseQuantizedToFloat", "Fused2BitRowwiseQuantizedToHalf", 2},
};

TEST(HalfRowsTest, AreTheNearestLevelsOfTheStoredFactors) {
  Workspace ws;
  constexpr int64_t kRows = 3, kWidth = 8;
  FeedRandom(&ws, "X", {kRows, kWidth}, 1, -3, 5);
  const auto x = FetchValues<float>(ws, "X");
  std::vector<float16> narrow;
  for (const float value : x) narrow.push_back(ToFloat16(value));
  Feed(&ws, "H", {kRows, kWidth}, narrow);
  for (const HalfFormat& format : kHalfFormats) {
    SCOPED_TRACE(format.from_float);
    RunOp(&ws, Op(format.from_float, {"X"}, {"Q"}));
    const int64_t bytes = kWidth * format.bits / 8;
    EXPECT_EQ(Fetch(ws, "Q").sizes(), (std::vector<int64_t>{kRows, bytes + 4}));
    RunOp(&ws, Op(format.to_float, {"Q"}, {"Y"}));
    RunOp(&ws, Op(format.to_half, {"Q"}, {"YH"}));
    const auto q = FetchValues<uint8_t>(ws, "Q");
    std::vector<float> expected;
    for (int64_t i = 0; i < kRows * kWidth; ++i) {
      const uint8_t* row = q.data() + i / kWidth * (bytes + 4);
      float16 factors[2];
      std::memcpy(factors, row + bytes, sizeof factors);
      const int64_t bit = i % kWidth * format.bits;
      const int max = (1 << format.bits) - 1, level = (row[bit / 8] >> bit % 8) & max;
      const float scale = ToFloat(factors[0]), bias = ToFloat(factors[1]);
      expected.push_back(scale * static_cast<float>(level) + bias);
      EXPECT_EQ(level, std::min<double>(max, std::max(0.f, std::rint((x[i] - bias) / scale)))) << i;
    }
    NoteCompared(ws, "Q");
    ExpectTensor(ws, "Y", {kRows, kWidth}, expected, 2.4e-7f, 0);
    ExpectNear(FetchHalf(ws, "YH"), expected, 0.002);
    RunOp(&ws, Op(format.from_half, {"H"}, {"QH"}));
    EXPECT_EQ(FetchValues<uint8_t>(ws, "QH"),
              ReferenceHalfRows(FetchHalf(ws, "H"), kWidth, format.bits));
    RunOp(&ws, Op(format.to_float, {"QH"}, {"YH"}));
    ExpectTensor(ws, "YH", {kRows, kWidth}, FetchHalf(ws, "H"), 0,
                 4.02f / static_cast<float>((1 << format.bits) - 1));
  }
}

// The bytes of a row of 8-bit levels with float factors, by a loop over the elements.
std::vector<uint8_t> ReferenceFloatRow(const std::vector<float>& x) {
  const auto [least, greatest] = std::minmax_element(x.begin(), x.end());
  const float range = *greatest - *least, inverse = 255 / (range + 1e-8f);
  std::vector<uint8_t> bytes;
  for (const float value : x) {
    const float level = std::nearbyint((value - *least) * inverse);
    bytes.push_back(static_cast<uint8_t>(std::clamp(level, 0.f, 255.f)));
  }
  const float factors[] = {range / 255, *least};
  bytes.resize(x.size() + sizeof factors);
  std::memcpy(bytes.data() + x.size(), factors, sizeof factors);
  return bytes;
}

// Rows of one width: numbers of several magnitudes, ties between levels, equal ones and both zeros.
std::vector<std::vector<float>> ManyRows(int64_t width) {
  std::vector<std::vector<float>> rows;
  for (const float scale : {1e-30f, 1e-3f, 1.f, 300.f, 1e30f}) {
    rows.push_back(RandomValues(width, static_cast<int>(rows.size()), -3 * scale, 5 * scale));
  }
  std::vector<float> ties, zeros;
  for (int64_t j = 0; j < width; ++j) {
    ties.push_back(static_cast<float>(j * 7 % 511) / 2);
    zeros.push_back(j % 3 == 1 ? -0.f : 0.f);
  }
  rows.push_back(ties);
  rows.push_back(zeros);
  for (float& zero : zeros) zero = -zero;
  rows.push_back(zeros);
  rows.emplace_back(width, 7.f);
  return rows;
}

TEST_F(RowwiseQuantizedTest, BytesAreTheOnesOfALoop) {
  for (const int64_t width : {1, 2, 7, 16, 33, 64, 100, 1029}) {
    std::vector<float> x, scale_bias;
    std::vector<uint8_t> fused, levels;
    const auto rows = ManyRows(width);
    for (const std::vector<float>& row : rows) {
      x.insert(x.end(), row.begin(), row.end());
      const std::vector<uint8_t> bytes = ReferenceFloatRow(row);
      fused.insert(fused.end(), bytes.begin(), bytes.end());
      levels.insert(levels.end(), bytes.begin(), bytes.begin() + width);
      float factors[2];
      std::memcpy(factors, bytes.data() + width, sizeof factors);
      scale_bias.insert(scale_bias.end(), factors, factors + 2);
    }
    const auto n = static_cast<int64_t>(rows.size());
    Feed(&ws, "many", {n, width}, x);
    RunOp(&ws, Op("FloatToFused8BitRowwiseQuantized", {"many"}, {"F"}));
    RunOp(&ws, Op("FloatToRowwiseQuantized8Bits", {"many"}, {"Q", "S"}));
    EXPECT_EQ(FetchValues<uint8_t>(ws, "F"), fused) << width;
    EXPECT_EQ(FetchValues<uint8_t>(ws, "Q"), levels) << width;
    EXPECT_EQ(FetchValues<float>(ws, "S"), scale_bias) << width;
    RunOp(&ws, Op("Fused8BitRowwiseQuantizedToFloat", {"F"}, {"D"}));
    RunOp(&ws, Op("Rowwise8BitQuantizedToFloat", {"Q", "S"}, {"E"}));
    std::vector<float> expected;
    for (int64_t i = 0; i < n * width; ++i) {
      const volatile float product = scale_bias[i / width * 2] * static_cast<float>(levels[i]);
      expected.push_back(product + scale_bias[i / width * 2 + 1]);
    }
    EXPECT_EQ(FetchValues<float>(ws, "D"), expected) << width;
    EXPECT_EQ(FetchValues<float>(ws, "E"), expected) << width;
  }
}

TEST(HalfRowsTest, BytesAreTheOnesOfALoop) {
  Workspace ws;
  for (const int64_t width : {4, 16, 36, 64, 100, 1028}) {
    std::vector<float> x;
    for (const std::vector<float>& row : ManyRows(width)) {
      const auto [least, greatest] = std::minmax_element(row.begin(), row.end());
      const bool has_range = *greatest > *least + 1e-3f && *greatest < 6e4f;
      if (has_range) x.insert(x.end(), row.begin(), row.end());
    }
    const auto n = static_cast<int64_t>(x.size()) / width;
    Feed(&ws, "X", {n, width}, x);
    for (const HalfFormat& format : kHalfFormats) {
      RunOp(&ws, Op(format.from_float, {"X"}, {"Q"}));
      EXPECT_EQ(FetchValues<uint8_t>(ws, "Q"), ReferenceHalfRows(x, width, format.bits))
          << format.from_float << " " << width;
    }
  }
}

// Rows of all bytes, with factors that are negative, tiny and zero: no value is -0.
TEST(HalfRowsTest, ValuesAreTheOnesOfALoop) {
  constexpr std::array<std::array<float, 2>, 4> kFactors = {
      {{0.375f, -1.125f}, {-3e-7f, 6e4f}, {0.f, -0.f}, {-2.f, 0.f}}};
  Workspace ws;
  for (const int64_t bytes : {1, 2, 15, 16, 17, 31, 32, 33, 100}) {
    for (const HalfFormat& format : kHalfFormats) {
      std::vector<uint8_t> q;
      std::vector<float> expected;
      for (size_t r = 0; r < kFactors.size(); ++r) {
        const float16 factors[] = {ToFloat16(kFactors[r][0]), ToFloat16(kFactors[r][1])};
        for (int64_t i = 0; i < bytes; ++i) {
          const auto byte = static_cast<uint8_t>(i * 89 + static_cast<int64_t>(r) * 31);
          q.push_back(byte);
          for (int bit = 0; bit < 8; bit += format.bits) {
            const double level = byte >> bit & ((1 << format.bits) - 1);
            const double value = ToFloat(factors[0]) * level + ToFloat(factors[1]);
            expected.push_back(0.f + static_cast<float>(value));
          }
        }
        const auto* raw = reinterpret_cast<const uint8_t*>(factors);
        q.insert(q.end(), raw, raw + sizeof factors);
      }
      Feed(&ws, "Q", {kFactors.size(), bytes + 4}, q);
      RunOp(&ws, Op(format.to_float, {"Q"}, {"Y"}));
      const std::vector<float> y = FetchValues<float>(ws, "Y");
      EXPECT_EQ(y, expected) << format.to_float << " " << bytes;
      for (const float value : y) EXPECT_FALSE(value == 0 && std::signbit(value));
    }
  }
}

TEST(HalfRowsTest, RowsOfHalfFloatsWithFloatFactors) {
  Workspace ws;
  std::vector<float16> x;
  for (const float value : RandomValues(12, 1)) x.push_back(ToFloat16(value));
  Feed(&ws, "X", {2, 6}, x);
  RunOp(&ws, Op("HalfFloatToFused8BitRowwiseQuantized", {"X"}, {"Q"}));
  RunOp(&ws, Op("Fused8BitRowwiseQuantizedToHalfFloat", {"Q"}, {"Y"}));
  EXPECT_EQ(Fetch(ws, "Q").sizes(), (std::vector<int64_t>{2, 14}));
  const std::vector<float> wanted = FetchHalf(ws, "X");
  ExpectNear(FetchHalf(ws, "Y"), wanted, 1.01 / 255 + 1e-3);
}

TEST(HalfRowsTest, EdgesAndBadInput) {
  Workspace ws;
  Feed<float>(&ws, "same", {1, 4}, {7, 7, 7, 7});
  RunOp(&ws, Op("FloatToFused4BitRowwiseQuantized", {"same"}, {"Q"}));
  RunOp(&ws, Op("Fused4BitRowwiseQuantizedToFloat", {"Q"}, {"Y"}));
  ExpectTensor(ws, "Y", {1, 4}, {7, 7, 7, 7});
  Feed<float>(&ws, "odd", {1, 3}, {1, 2, 3});
  ExpectThrows(&ws, Op("FloatToFused4BitRowwiseQuantized", {"odd"}, {"Q"}), "2 levels");
  ExpectThrows(&ws, Op("FloatToFused2BitRowwiseQuantized", {"odd"}, {"Q"}), "4 levels");
  Feed<float>(&ws, "large", {1, 2}, {1e6f, 0});
  ExpectThrows(&ws, Op("FloatToFused4BitRowwiseQuantized", {"large"}, {"Q"}), "float16");
  ExpectThrows(&ws, Op("HalfToFused4BitRowwiseQuantized", {"same"}, {"Q"}), "float16");
}

double SquaredError(const Workspace& ws, const std::string& a, const std::string& b) {
  const auto x = FetchValues<float>(ws, a), y = FetchValues<float>(ws, b);
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += (x[i] - y[i]) * double{x[i] - y[i]};
  return sum;
}

// One far value: bounds that leave it out are better for the others.
TEST(HalfRowsTest, GreedyBoundsAreBetter) {
  Workspace ws;
  std::vector<float> x = RandomValues(400, 3, 0, 1);
  x[7] = 1.14f;
  Feed(&ws, "X", {1, 400}, x);
  for (const HalfFormat& format : kHalfFormats) {
    if (format.bits == 8) continue;
    OperatorDef quantize = Op(format.from_float, {"X"}, {"Q"});
    RunOp(&ws, quantize);
    RunOp(&ws, Op(format.to_float, {"Q"}, {"Y"}));
    quantize.set_engine("GREEDY");
    RunOp(&ws, quantize);
    RunOp(&ws, Op(format.to_float, {"Q"}, {"G"}));
    // With four levels the search ends without a place where both ends are best left alone.
    const double share = format.bits == 4 ? 0.97 : 1;
    EXPECT_LE(SquaredError(ws, "X", "G"), share * SquaredError(ws, "X", "Y")) << format.from_float;
  }
}

}  // namespace
}  // namespace caffe2::testing
