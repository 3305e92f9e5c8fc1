// Matrices whose rows are quantized one by one: x = scale * level + bias.
//
// In a fused format a row of bytes holds its levels, then its scale and its bias. Otherwise scales
// and biases are in a separate tensor, float N x 2. Levels of less than 8 bits share bytes, the
// first level in the lowest bits.
#pragma once

#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "caffe2/core/operator.h"
#include "caffe2/utils/simd.h"
#include "operators/common/element_type.h"

namespace caffe2 {

// Why the operators on such rows have no version for GPUs (OpSchema::CpuOnly).
inline constexpr char kCpuOnly[] =
    "tables of quantized rows are packed and served from host memory";

// How a row is stored.
struct RowFormat {
  int bits = 8;               // of a level: 8, 4 or 2
  bool fused = true;          // scale and bias follow the levels of the row
  bool half_factors = false;  // a fused scale and bias are float16, not float

  constexpr int per_byte() const { return 8 / bits; }
  constexpr int max_level() const { return (1 << bits) - 1; }  // the highest level
  // The number of bytes after the levels of a row.
  constexpr int64_t factor_bytes() const {
    return !fused ? 0 : 2 * static_cast<int64_t>(half_factors ? sizeof(float16) : sizeof(float));
  }
  // stride(): the number of bytes of a row of `width` levels. width(): the number of levels that
  // fit into a row of `stride` bytes.
  int64_t stride(int64_t width) const {
    return (width + per_byte() - 1) / per_byte() + factor_bytes();
  }
  int64_t width(int64_t stride) const {
    CAFFE_ENFORCE(stride >= factor_bytes(), "a row of quantized data must have at least the ",
                  factor_bytes(), " bytes of its scale and bias, found ", stride);
    return (stride - factor_bytes()) * per_byte();
  }
};

inline constexpr RowFormat kPlain8Bit{8, false, false};
inline constexpr RowFormat kFused8Bit{8, true, false};
inline constexpr RowFormat kFused8BitHalf{8, true, true};
inline constexpr RowFormat kFused4Bit{4, true, true};
inline constexpr RowFormat kFused2Bit{2, true, true};

// A word of consecutive bytes, which may lie anywhere; the first byte has its lowest bits.
template <typename Word>
CAFFE2_INLINE Word ReadWord(const uint8_t* from) {
  static_assert(std::endian::native == std::endian::little);
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// f(i) for i in [0, n), in vectors also for rows that are shorter than the longest vector of bytes.
template <class F>
CAFFE2_INLINE void ForEachByte(int64_t n, const F& f) {
  constexpr int64_t kBlock = 16;
  int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
#pragma omp simd
    for (int64_t j = 0; j < kBlock; ++j) f(i + j);
  }
  for (; i < n; ++i) f(i);
}

// The scale and the bias of a row.
struct RowFactors {
  float scale = 0, bias = 0;
};

// The quantized matrix in input `data` of an operator. Scales and biases are in input `scale_bias`
// unless they are fused. With `any_shape` the tensor may have any number of axes, with rows along
// the last one.
template <RowFormat kFormat>
class QuantizedMatrix {
 public:
  // Throws EnforceNotMet, naming the shapes, for inputs that do not match.
  QuantizedMatrix(const OperatorBase& op, int data, int scale_bias, bool any_shape = false) {
    const Tensor& matrix = op.Input<Tensor>(data);
    CAFFE_ENFORCE(matrix.dim() == 2 || (any_shape && matrix.dim() > 0),
                  "the quantized data must be a matrix, found shape ", ShapeString(matrix.sizes()));
    rows_ = matrix.size_to_dim(matrix.dim() - 1);
    stride_ = matrix.size(matrix.dim() - 1);
    width_ = kFormat.width(stride_);
    values_ = matrix.data<uint8_t>();
    if (kFormat.fused) return;
    const Tensor& factors = op.Input<Tensor>(scale_bias);
    CAFFE_ENFORCE(factors.dim() == 2 && factors.size(0) == rows_ && factors.size(1) == 2,
                  "scale_bias must be ", rows_,
                  " x 2, one row for each row of the data; found shape ",
                  ShapeString(factors.sizes()));
    scale_bias_ = factors.data<float>();
  }

  int64_t rows() const { return rows_; }
  int64_t width() const { return width_; }
  int64_t level_bytes() const { return width_ / kFormat.per_byte(); }
  CAFFE2_INLINE const uint8_t* Levels(int64_t i) const { return values_ + i * stride_; }
  CAFFE2_INLINE RowFactors Factors(int64_t i) const {
    if constexpr (kFormat.half_factors) {
      float16 factors[2];
      std::memcpy(factors, FactorsAt(i), sizeof factors);  // not aligned
      return {ToFloat(factors[0]), ToFloat(factors[1])};
    } else {
      float factors[2];
      std::memcpy(factors, FactorsAt(i), sizeof factors);
      return {factors[0], factors[1]};
    }
  }
  CAFFE2_INLINE const void* FactorsAt(int64_t i) const {
    if constexpr (kFormat.fused) {
      return values_ + (i + 1) * stride_ - kFormat.factor_bytes();
    } else {
      return scale_bias_ + 2 * i;
    }
  }

 private:
  int64_t rows_ = 0, width_ = 0, stride_ = 0;
  const uint8_t* values_ = nullptr;
  const float* scale_bias_ = nullptr;
};

// The smallest and the largest of n elements; 0 and 0 if n is 0. Throws EnforceNotMet unless all
// elements and the range are finite.
using RowBounds = std::pair<float, float>;
RowBounds FindRowBounds(int64_t n, const float* x);
// The bounds with the least sum of squared errors that a step-by-step search finds; scale and bias
// are float16. This is Caffe2's engine GREEDY. Throws as FindRowBounds does.
RowBounds SearchRowBounds(int64_t n, const float* x, int max_level);

// Writes the levels of one row, in [0, max_level], one for each byte, and returns its scale and
// bias. With `half_factors`, scale and bias are rounded to float16, and levels are the nearest for
// the rounded values. A row of equal elements has scale 1 with `half_factors` and 0 without. Throws
// EnforceNotMet if a scale or bias is too large for float16.
RowFactors QuantizeRow(int64_t n, const float* x, const RowBounds& bounds, int max_level,
                       bool half_factors, uint8_t* levels);

// Packs n levels, one for each byte, which fill whole bytes of the format, and factors into a row.
// `levels` may be `row` if levels have 8 bits.
void PackRow(const RowFormat& format, int64_t n, const uint8_t* levels, const RowFactors& factors,
             uint8_t* row);

inline constexpr const char* FormatDoc(const RowFormat& format) {
  if (format.bits == 4) {
    return "uint8 rows: two levels of 4 bits a byte, then scale and bias as float16.";
  }
  if (format.bits == 2) {
    return "uint8 rows: four levels of 2 bits a byte, then scale and bias as float16.";
  }
  if (!format.fused) return "uint8 N x D.";
  return format.half_factors ? "uint8 rows, each followed by its scale and bias as float16."
                             : "uint8 rows, each followed by its scale and bias.";
}

}  // namespace caffe2
