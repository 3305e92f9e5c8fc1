// What the tests of row-wise quantized tensors share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/operators/op_test.h"

namespace caffe2::testing {

// The bytes of one row with a scale and a bias of float16: the bias is the least element, the scale
// parts what is left to the greatest into 2^bits - 1 steps, and levels are the nearest. With `fake`
// each level has a byte, and the factors are floats of the same values.
inline std::vector<uint8_t> ReferenceHalfRow(const std::vector<float>& x, int bits, bool fake) {
  const auto highest = static_cast<float>((1 << bits) - 1);
  const auto [least, greatest] = std::minmax_element(x.begin(), x.end());
  const float16 half_bias = ToFloat16(*least);
  const float bias = ToFloat(half_bias);
  const float16 half_scale = ToFloat16((*greatest - bias) / highest);
  const float scale = ToFloat(half_scale);
  const size_t per_byte = fake ? 1 : 8 / bits;
  std::vector<uint8_t> bytes(x.size() / per_byte);
  for (size_t i = 0; i < x.size(); ++i) {
    const float level = std::min(highest, std::max(0.f, std::rint((x[i] - bias) / scale)));
    bytes[i / per_byte] |= static_cast<uint8_t>(static_cast<int>(level) << i % per_byte * bits);
  }
  const auto append = [&bytes](const auto& factor) {
    const size_t at = bytes.size();
    bytes.resize(at + sizeof factor);
    std::memcpy(bytes.data() + at, &factor, sizeof factor);
  };
  if (fake) {
    append(scale);
    append(bias);
  } else {
    append(half_scale);
    append(half_bias);
  }
  return bytes;
}
// The same for rows of `width` elements.
inline std::vector<uint8_t> ReferenceHalfRows(const std::vector<float>& x, int64_t width, int bits,
                                              bool fake = false) {
  std::vector<uint8_t> rows;
  for (auto at = x.begin(); at != x.end(); at += width) {
    const std::vector<uint8_t> row = ReferenceHalfRow({at, at + width}, bits, fake);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return rows;
}

class RowwiseQuantizedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    FeedRandom(&ws, "X", {4, 3}, 1, -3, 5);
    RunOp(&ws, Op("FloatToFused8BitRowwiseQuantized", {"X"}, {"F"}));
    RunOp(&ws, Op("FloatToRowwiseQuantized8Bits", {"X"}, {"Q", "S"}));
    Feed<int32_t>(&ws, "i", {5}, {3, 0, 0, 2, 1});
    Feed<int32_t>(&ws, "n", {3}, {2, 0, 3});
    FeedRandom(&ws, "w", {5}, 2);
  }
  // The result of an operator on quantized data must be that of one on their floats.
  void ExpectSame(const OperatorDef& quantized, const OperatorDef& plain) {
    RunOp(&ws, quantized);
    RunOp(&ws, plain);
    ExpectTensor(ws, quantized.output(0), Fetch(ws, plain.output(0)).sizes(),
                 FetchValues<float>(ws, plain.output(0)), 1e-5f, 1e-5f);
  }
  Workspace ws;
};

}  // namespace caffe2::testing
