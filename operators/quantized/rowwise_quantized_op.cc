// Conversions of matrices to and from quantized rows.
#include <algorithm>

#include "caffe2/utils/parallel.h"
#include "operators/common/indices.h"
#include "operators/common/wide_rows.h"
#include "operators/quantized/quantized_rows.h"

namespace caffe2 {
namespace {

using Shapes = std::vector<TensorShape>;

// Calls body(first row, count) for blocks of the rows [begin, end). The steps of an operator are
// loops over the rows of a block, because the extremes, the levels and the bytes of one row each
// wait for the step before.
constexpr int64_t kBlockRows = 16;
template <class Body>
void ForRowBlocks(int64_t begin, int64_t end, int64_t width, const Body& body) {
  constexpr int64_t kElements = 4096;  // stay in the cache
  const int64_t rows = std::clamp<int64_t>(kElements / width, 1, kBlockRows);
  for (int64_t i = begin; i < end; i += rows) body(i, std::min(rows, end - i));
}

// Quantizes the rows of X, of T, along the last axis to the levels of kLevels, in the format kOut.
template <typename T, RowFormat kLevels, RowFormat kOut = kLevels, bool kGreedy = false>
class QuantizeFusedOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.dim() >= 1, "X must have at least one axis, found a scalar");
    const int64_t rows = X.size_to_dim(X.dim() - 1), width = X.size(X.dim() - 1);
    CAFFE_ENFORCE(width > 0, "the rows of X must not be empty, found shape ",
                  ShapeString(X.sizes()));
    CAFFE_ENFORCE(width % kOut.per_byte() == 0, "a row of X must fill whole bytes of ",
                  kOut.per_byte(), " levels, found ", width, " elements");
    const T* x = X.data<T>();
    std::vector<int64_t> dims = X.sizes();
    dims.back() = kOut.stride(width);
    Output(0)->Resize(dims);
    auto* q = Output(0)->template mutable_data<uint8_t>();
    const int64_t stride = dims.back();
    const int64_t reads = width * (kGreedy ? 64 : 1);  // the search reads a row many times
    ParallelFor(rows, RowGrain(reads), [=](int64_t begin, int64_t end) {
      WideInput<T> wide;
      std::vector<uint8_t> buffer(kOut.bits < 8 ? kBlockRows * width : 0);
      ForRowBlocks(begin, end, width, [&](int64_t first, int64_t count) {
        const float* values = wide.Row(count * width, x + first * width);
        uint8_t* const to = q + first * stride;
        uint8_t* const levels = kOut.bits < 8 ? buffer.data() : to;
        const int64_t pitch = kOut.bits < 8 ? width : stride;  // of levels
        RowBounds bounds[kBlockRows];
        RowFactors factors[kBlockRows];
        for (int64_t i = 0; i < count; ++i) bounds[i] = BoundsOf(width, values + i * width);
        for (int64_t i = 0; i < count; ++i) {
          factors[i] = QuantizeRow(width, values + i * width, bounds[i], kLevels.max_level(),
                                   kLevels.half_factors, levels + i * pitch);
        }
        for (int64_t i = 0; i < count; ++i) {
          PackRow(kOut, width, levels + i * pitch, factors[i], to + i * stride);
        }
      });
    });
    return true;
  }

 private:
  static RowBounds BoundsOf(int64_t n, const float* row) {
    return kGreedy ? SearchRowBounds(n, row, kLevels.max_level()) : FindRowBounds(n, row);
  }
};

// Rows are matrices of all axes but the first; scales and biases are the second output.
class QuantizeRowsOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.dim() >= 1, "X must have at least one axis, found a scalar");
    const int64_t rows = X.size(0), width = X.size_from_dim(1);
    CAFFE_ENFORCE(width > 0, "the rows of X must not be empty, found shape ",
                  ShapeString(X.sizes()));
    const auto* x = X.data<float>();
    Output(0)->ResizeLike(X);
    Output(1)->Resize(rows, 2);
    auto* q = Output(0)->mutable_data<uint8_t>();
    auto* scale_bias = Output(1)->mutable_data<float>();
    ParallelFor(rows, RowGrain(width), [=](int64_t begin, int64_t end) {
      ForRowBlocks(begin, end, width, [=](int64_t first, int64_t count) {
        RowBounds bounds[kBlockRows];
        for (int64_t i = 0; i < count; ++i) {
          bounds[i] = FindRowBounds(width, x + (first + i) * width);
        }
        for (int64_t i = 0; i < count; ++i) {
          const int64_t row = first + i;
          const RowFactors factors = QuantizeRow(width, x + row * width, bounds[i],
                                                 kPlain8Bit.max_level(), false, q + row * width);
          scale_bias[2 * row] = factors.scale;
          scale_bias[2 * row + 1] = factors.bias;
        }
      });
    });
    return true;
  }
};

// The values of kBytes bytes of four levels each.
template <int kBytes>
CAFFE2_INLINE void DequantizeFours(const uint8_t* from, const RowFactors& factors, float* y) {
  constexpr int kLevels = 4 * kBytes;
  uint32_t words[kBytes];  // a level in each byte, the first one in the lowest
  for (int i = 0; i < kBytes; ++i) {
    const uint32_t byte = from[i];
    words[i] = (byte | byte << 6 | byte << 12 | byte << 18) & 0x03030303u;
  }
  uint8_t levels[kLevels];
  std::memcpy(levels, words, sizeof levels);
  for (int i = 0; i < kLevels; ++i) {
    y[i] = 0.f + (factors.scale * static_cast<float>(levels[i]) + factors.bias);  // no -0
  }
}
// A row of 2-bit levels.
CAFFE2_INLINE void DequantizeFours(int64_t bytes, const uint8_t* levels, const RowFactors& factors,
                                   float* y) {
  constexpr int64_t kBlock = 16;
  int64_t i = 0;
  for (; i + kBlock <= bytes; i += kBlock) {
    DequantizeFours<kBlock>(levels + i, factors, y + 4 * i);
  }
  if (bytes >= kBlock && i < bytes) {  // the last block overlaps the one before
    i = bytes - kBlock;
    DequantizeFours<kBlock>(levels + i, factors, y + 4 * i);
    i = bytes;
  }
  for (; i < bytes; ++i) DequantizeFours<1>(levels + i, factors, y + 4 * i);
}

// y = scale * level + bias, where the product is rounded too: products of float factors need a loop
// of their own, because processors that can would round once. The others are exact.
template <RowFormat kFormat>
CAFFE2_SIMD_CLONES void DequantizeRow(int64_t bytes, const uint8_t* levels, RowFactors factors,
                                      float* y) {
  constexpr int kPerByte = kFormat.per_byte();
  if constexpr (kPerByte == 4) {
    DequantizeFours(bytes, levels, factors, y);
    return;
  }
#pragma omp simd
  for (int64_t i = 0; i < bytes; ++i) {
    for (int k = 0; k < kPerByte; ++k) {
      const int level = levels[i] >> (k * kFormat.bits) & kFormat.max_level();
      const float product = factors.scale * static_cast<float>(level);
      y[i * kPerByte + k] = kFormat.half_factors ? 0.f + (product + factors.bias) : product;
    }
  }
  if constexpr (kFormat.half_factors) return;
#pragma omp simd
  for (int64_t i = 0; i < bytes; ++i) y[i] = 0.f + (y[i] + factors.bias);  // no -0
}

// Converts all rows to T or, with kGather, the rows of the indices in input 1.
template <typename T, RowFormat kFormat, bool kGather>
class DequantizeRowsOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const QuantizedMatrix<kFormat> matrix(*this, 0, 1, /*any_shape=*/kFormat.fused && !kGather);
    std::vector<int64_t> indices, dims = Input(0).sizes();
    if (kGather) {
      indices = ReadIndices(Input(1), matrix.rows());
      dims = Input(1).sizes();
      dims.push_back(0);
    }
    const int64_t width = matrix.width();
    dims.back() = width;
    Output(0)->Resize(dims);
    T* y = Output(0)->template mutable_data<T>();
    const int64_t n = kGather ? static_cast<int64_t>(indices.size()) : matrix.rows();
    ParallelFor(n, RowGrain(width), [&](int64_t begin, int64_t end) {
      WideOutput<T> wide;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = kGather ? indices[i] : i;
        DequantizeRow<kFormat>(matrix.level_bytes(), matrix.Levels(row), matrix.Factors(row),
                               wide.Row(width, y + i * width));
        wide.Store();
      }
    });
    return true;
  }
};

template <RowFormat kOut>
Shapes InferQuantize(const OperatorDef&, const Shapes& in) {
  std::vector<int64_t> dims = GetDimsVector(in[0]);
  CAFFE_ENFORCE(!dims.empty(), "X must have at least one axis, found a scalar");
  dims.back() = kOut.stride(dims.back());
  return {CreateTensorShape(dims, TensorProto::UINT8)};
}

template <RowFormat kFormat, TensorProto::DataType type>
Shapes InferDequantize(const OperatorDef&, const Shapes& in) {
  std::vector<int64_t> dims = GetDimsVector(in[0]);
  CAFFE_ENFORCE(!dims.empty(), "the quantized data must have at least one axis, found a scalar");
  dims.back() = kFormat.width(dims.back());
  return {CreateTensorShape(dims, type)};
}

template <typename T, RowFormat kLevels, RowFormat kOut>
void DescribeQuantize(OpSchema& schema) {
  const std::string type = TypeName<T>::Get();
  schema.NumInputs(1)
      .NumOutputs(1)
      .TensorInferenceFunction(InferQuantize<kOut>)
      .SetDoc(MakeString("Quantizes each row to ", kLevels.max_level() + 1,
                         " levels from its least to its largest element",
                         kLevels.bits == kOut.bits ? "." : ", in the form of 8-bit rows.",
                         kLevels.bits == 8 ? ""
                                           : " With the engine GREEDY, to those between bounds "
                                             "that are searched for the least squared error."))
      .Input(0, "input",
             "A tensor [..., D] of rows along the last axis, of float or float16 as "
             "the name says.")
      .Output(0, "output", FormatDoc(kOut));
}

template <RowFormat kFormat, TensorProto::DataType type>
void DescribeDequantize(OpSchema& schema) {
  schema.NumInputs(1)
      .NumOutputs(1)
      .TensorInferenceFunction(InferDequantize<kFormat, type>)
      .SetDoc("The values of quantized rows: scale * level + bias.")
      .Input(0, "quantized", FormatDoc(kFormat))
      .Output(0, "output", "The rows [..., D], of float or float16 as the name says.");
}

#define REGISTER_QUANTIZE(name, T, levels, out)                                        \
  using name##Op = QuantizeFusedOp<T, levels, out>;                                    \
  REGISTER_CPU_OPERATOR(name, name##Op);                                               \
  OPERATOR_SCHEMA(name).FillUsing(DescribeQuantize<T, levels, out>).CpuOnly(kCpuOnly); \
  SHOULD_NOT_DO_GRADIENT(name)
// With the engine GREEDY, too.
#define REGISTER_QUANTIZE_GREEDY(name, T, levels, out)        \
  REGISTER_QUANTIZE(name, T, levels, out);                    \
  using name##Greedy = QuantizeFusedOp<T, levels, out, true>; \
  REGISTER_CPU_OPERATOR_WITH_ENGINE(name, GREEDY, name##Greedy)
#define REGISTER_DEQUANTIZE(name, T, format, type)              \
  using name##Op = DequantizeRowsOp<T, format, false>;          \
  REGISTER_CPU_OPERATOR(name, name##Op);                        \
  OPERATOR_SCHEMA(name)                                         \
      .FillUsing(DescribeDequantize<format, TensorProto::type>) \
      .CpuOnly(kCpuOnly);                                       \
  SHOULD_NOT_DO_GRADIENT(name)

REGISTER_QUANTIZE(FloatToFused8BitRowwiseQuantized, float, kFused8Bit, kFused8Bit);
REGISTER_QUANTIZE(HalfFloatToFused8BitRowwiseQuantized, float16, kFused8Bit, kFused8Bit);
REGISTER_QUANTIZE(FloatToFused8BitRowwiseQuantizedHalfScaleBias, float, kFused8BitHalf,
                  kFused8BitHalf);
REGISTER_QUANTIZE(HalfFloatToFused8BitRowwiseQuantizedHalfScaleBias, float16, kFused8BitHalf,
                  kFused8BitHalf);
REGISTER_QUANTIZE_GREEDY(FloatToFused4BitRowwiseQuantized, float, kFused4Bit, kFused4Bit);
REGISTER_QUANTIZE_GREEDY(HalfToFused4BitRowwiseQuantized, float16, kFused4Bit, kFused4Bit);
REGISTER_QUANTIZE_GREEDY(FloatToFused2BitRowwiseQuantized, float, kFused2Bit, kFused2Bit);
REGISTER_QUANTIZE_GREEDY(HalfToFused2BitRowwiseQuantized, float16, kFused2Bit, kFused2Bit);
REGISTER_QUANTIZE_GREEDY(FloatToFused4BitFakeRowwiseQuantized, float, kFused4Bit, kFused8Bit);
REGISTER_QUANTIZE_GREEDY(HalfToFused4BitFakeRowwiseQuantized, float16, kFused4Bit, kFused8Bit);
REGISTER_QUANTIZE_GREEDY(FloatToFused2BitFakeRowwiseQuantized, float, kFused2Bit, kFused8Bit);
REGISTER_QUANTIZE_GREEDY(HalfToFused2BitFakeRowwiseQuantized, float16, kFused2Bit, kFused8Bit);

REGISTER_DEQUANTIZE(Fused8BitRowwiseQuantizedToFloat, float, kFused8Bit, FLOAT);
REGISTER_DEQUANTIZE(Fused8BitRowwiseQuantizedToHalfFloat, float16, kFused8Bit, FLOAT16);
REGISTER_DEQUANTIZE(Fused8BitRowwiseQuantizedHalfScaleBiasToFloat, float, kFused8BitHalf, FLOAT);
REGISTER_DEQUANTIZE(Fused8BitRowwiseQuantizedHalfScaleBiasToHalfFloat, float16, kFused8BitHalf,
                    FLOAT16);
REGISTER_DEQUANTIZE(Fused4BitRowwiseQuantizedToFloat, float, kFused4Bit, FLOAT);
REGISTER_DEQUANTIZE(Fused4BitRowwiseQuantizedToHalf, float16, kFused4Bit, FLOAT16);
REGISTER_DEQUANTIZE(Fused2BitRowwiseQuantizedToFloat, float, kFused2Bit, FLOAT);
REGISTER_DEQUANTIZE(Fused2BitRowwiseQuantizedToHalf, float16, kFused2Bit, FLOAT16);

using Dequantize = DequantizeRowsOp<float, kPlain8Bit, false>;
using GatherFused = DequantizeRowsOp<float, kFused8Bit, true>;
REGISTER_CPU_OPERATOR(FloatToRowwiseQuantized8Bits, QuantizeRowsOp);
REGISTER_CPU_OPERATOR(Rowwise8BitQuantizedToFloat, Dequantize);
REGISTER_CPU_OPERATOR(GatherFused8BitRowwise, GatherFused);

OPERATOR_SCHEMA(FloatToRowwiseQuantized8Bits)
    .NumInputs(1)
    .NumOutputs(2)
    .TensorInferenceFunction([](const OperatorDef&, const Shapes& in) {
      CAFFE_ENFORCE(in[0].dims_size() > 0, "X must have at least one axis, found a scalar");
      return Shapes{CreateTensorShape(GetDimsVector(in[0]), TensorProto::UINT8),
                    CreateTensorShape({in[0].dims(0), 2}, TensorProto::FLOAT)};
    })
    .SetDoc("Quantizes each row to 256 levels from its least to its largest element.")
    .Input(0, "input", "A float tensor [N, ...].")
    .Output(0, "quantized_input", "uint8, of its shape.")
    .Output(1, "scale_bias", "Float N x 2: scale and bias of each row.")
    .CpuOnly(kCpuOnly);
OPERATOR_SCHEMA(Rowwise8BitQuantizedToFloat)
    .NumInputs(2)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const Shapes& in) {
      return Shapes{CreateTensorShape(GetDimsVector(in[0]), TensorProto::FLOAT)};
    })
    .Input(0, "quantized", FormatDoc(kPlain8Bit))
    .Input(1, "scale_bias", "Float N x 2: scale and bias of each row.")
    .SetDoc("The inverse of FloatToRowwiseQuantized8Bits, but for rounding.")
    .Output(0, "output", "Float N x D.")
    .CpuOnly(kCpuOnly);
OPERATOR_SCHEMA(GatherFused8BitRowwise)
    .NumInputs(2)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const Shapes& in) {
      CAFFE_ENFORCE(in[0].dims_size() == 2, "the quantized data must be a matrix, found ",
                    in[0].dims_size(), " axes");
      std::vector<int64_t> dims = GetDimsVector(in[1]);
      dims.push_back(kFused8Bit.width(in[0].dims(1)));
      return Shapes{CreateTensorShape(dims, TensorProto::FLOAT)};
    })
    .SetDoc("Gather of quantized rows, as floats.")
    .Input(0, "DATA", FormatDoc(kFused8Bit))
    .Input(1, "INDICES", "int32 or int64: the rows to read.")
    .Output(0, "OUTPUT", "Float: one row for each index.")
    .CpuOnly(kCpuOnly);
SHOULD_NOT_DO_GRADIENT(FloatToRowwiseQuantized8Bits);
SHOULD_NOT_DO_GRADIENT(Rowwise8BitQuantizedToFloat);
SHOULD_NOT_DO_GRADIENT(GatherFused8BitRowwise);

}  // namespace
}  // namespace caffe2
