// Matrices of one byte an element, with a scale and a bias for each row: x = q * scale + bias.
//
// In the fused form a row is its bytes, then scale and bias as floats; otherwise scale and bias are
// a tensor of their own. Conversions of the fused form take rows along the last axis of any tensor.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "caffe2/core/operator.h"
#include "operators/indices.h"
#include "operators/segments.h"

namespace caffe2 {
namespace {

constexpr int64_t kFusedBytes = 2 * sizeof(float);  // scale and bias behind a fused row
constexpr float kLevels = 255;

struct Row {
  const uint8_t* values = nullptr;
  float scale = 0, bias = 0;
};

// The quantized matrix in input `data`; scales and biases are in input `scale_bias` (N x 2), or in
// the rows if it is negative. With `any_shape` the rows are those along the last axis of any
// tensor.
class QuantizedMatrix {
 public:
  QuantizedMatrix(const OperatorBase& op, int data, int scale_bias, bool any_shape = false) {
    const Tensor& matrix = op.Input<Tensor>(data);
    CAFFE_ENFORCE(matrix.dim() == 2 || (any_shape && matrix.dim() > 0), "quantized data ",
                  ShapeString(matrix.sizes()), " must be a matrix");
    rows_ = matrix.size_to_dim(matrix.dim() - 1);
    stride_ = matrix.size(matrix.dim() - 1);
    values_ = matrix.data<uint8_t>();
    if (scale_bias < 0) {
      CAFFE_ENFORCE_GE(stride_, kFusedBytes, "bytes of a fused row");
      width_ = stride_ - kFusedBytes;
      return;
    }
    width_ = stride_;
    const Tensor& factors = op.Input<Tensor>(scale_bias);
    CAFFE_ENFORCE(factors.dim() == 2 && factors.size(0) == rows_ && factors.size(1) == 2,
                  "scale_bias ", ShapeString(factors.sizes()), " for data ",
                  ShapeString(matrix.sizes()), " must be N x 2");
    scale_bias_ = factors.data<float>();
  }

  int64_t rows() const { return rows_; }
  int64_t width() const { return width_; }
  Row row(int64_t i) const {
    Row row{values_ + i * stride_};
    if (scale_bias_ != nullptr) {
      row.scale = scale_bias_[2 * i];
      row.bias = scale_bias_[2 * i + 1];
    } else {  // not aligned
      std::memcpy(&row.scale, row.values + width_, sizeof(float));
      std::memcpy(&row.bias, row.values + width_ + sizeof(float), sizeof(float));
    }
    return row;
  }
  // y += weight * row i
  void AddRow(int64_t i, float weight, float* y) const {
    const Row r = row(i);
    const float scale = weight * r.scale, bias = weight * r.bias;
    for (int64_t j = 0; j < width_; ++j) y[j] += scale * static_cast<float>(r.values[j]) + bias;
  }

 private:
  int64_t rows_ = 0, width_ = 0, stride_ = 0;
  const uint8_t* values_ = nullptr;
  const float* scale_bias_ = nullptr;
};

template <bool kFused>
class QuantizeRowsOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE_GE(X.dim(), 1, "X must have rows");
    const int row_axis = kFused ? X.dim() - 1 : 1;
    const int64_t rows = X.size_to_dim(row_axis), width = X.size_from_dim(row_axis);
    CAFFE_ENFORCE_GT(width, 0, "elements of a row of X");
    const int64_t stride = width + (kFused ? kFusedBytes : 0);
    const float* x = X.data<float>();
    std::vector<int64_t> dims = X.sizes();
    if (kFused) dims.back() = stride;
    Output(0)->Resize(dims);
    uint8_t* q = Output(0)->mutable_data<uint8_t>();
    float* scale_bias = nullptr;
    if (!kFused) {
      Output(1)->Resize(rows, 2);
      scale_bias = Output(1)->mutable_data<float>();
    }
    for (int64_t i = 0; i < rows; ++i, x += width, q += stride) {
      float factors[2];
      QuantizeRow(width, x, q, factors);
      if (kFused) {
        std::memcpy(q + width, factors, sizeof factors);
      } else {
        std::copy_n(factors, 2, scale_bias + 2 * i);
      }
    }
    return true;
  }

 private:
  // A row of equal elements has scale 0 and all of them in the bias.
  static void QuantizeRow(int64_t n, const float* x, uint8_t* q, float* scale_bias) {
    const auto [least, most] = std::minmax_element(x, x + n);
    CAFFE_ENFORCE(std::isfinite(*least) && std::isfinite(*most), "a row from ", *least, " to ",
                  *most, " cannot be quantized");
    const float scale = (*most - *least) / kLevels;
    scale_bias[0] = scale;
    scale_bias[1] = *least;
    for (int64_t j = 0; j < n; ++j) {
      q[j] =
          scale > 0
              ? static_cast<uint8_t>(std::clamp(std::round((x[j] - *least) / scale), 0.f, kLevels))
              : uint8_t{0};
    }
  }
};

// All rows as floats, or with kGather those of the indices in input 1.
template <bool kFused, bool kGather>
class DequantizeRowsOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const QuantizedMatrix matrix(*this, 0, kFused ? -1 : 1, /*any_shape=*/kFused && !kGather);
    std::vector<int64_t> indices, dims = Input(0).sizes();
    if (kGather) {
      indices = ReadIndices(Input(1), matrix.rows());
      dims = Input(1).sizes();
      dims.push_back(0);
    }
    dims.back() = matrix.width();
    Output(0)->Resize(dims);
    float* y = Output(0)->mutable_data<float>();
    std::fill_n(y, Output(0)->numel(), 0.f);
    const int64_t n = kGather ? static_cast<int64_t>(indices.size()) : matrix.rows();
    for (int64_t i = 0; i < n; ++i) {
      matrix.AddRow(kGather ? indices[i] : i, 1, y + i * matrix.width());
    }
    return true;
  }
};

// SparseLengths{Sum, Mean} of quantized rows, weighted or not. Inputs: DATA, [WEIGHTS], INDICES,
// LENGTHS, [SCALE_BIAS].
template <bool kFused, bool kWeighted, bool kMean>
class SparseLengthsQuantizedOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  static constexpr int kIndices = kWeighted ? 2 : 1;
  bool RunOnDevice() override {
    const QuantizedMatrix matrix(*this, 0, kFused ? -1 : kIndices + 2);
    const std::vector<int64_t> rows = ReadIndices(Input(kIndices), matrix.rows());
    const Segments segments =
        Segments::FromLengths(Input(kIndices + 1), static_cast<int64_t>(rows.size()));
    const float* weights = nullptr;
    if (kWeighted) {
      CAFFE_ENFORCE_EQ(Input(1).numel(), segments.size(), "weights, one for each index");
      weights = Input(1).data<float>();
    }
    const int64_t width = matrix.width();
    Output(0)->Resize(segments.count(), width);
    float* y = Output(0)->mutable_data<float>();
    segments.ForEach(width, [&](int64_t s) {
      float* out = y + s * width;
      std::fill_n(out, width, 0.f);
      const int64_t n = segments.length(s);
      const float share = kMean && n > 0 ? 1.f / static_cast<float>(n) : 1.f;
      for (int64_t k = 0; k < n; ++k) {
        const int64_t entry = segments.entry(s, k);
        matrix.AddRow(rows[entry], share * (weights == nullptr ? 1.f : weights[entry]), out);
      }
    });
    return true;
  }
};

template <bool kFused>
std::vector<TensorShape> InferQuantize(const OperatorDef&, const std::vector<TensorShape>& in) {
  std::vector<int64_t> dims = GetDimsVector(in[0]);
  CAFFE_ENFORCE(!dims.empty(), "X must have rows");
  const int64_t rows = dims[0];
  if (kFused) dims.back() += kFusedBytes;
  std::vector<TensorShape> out{CreateTensorShape(dims, TensorProto::UINT8)};
  if (!kFused) out.push_back(CreateTensorShape({rows, 2}, TensorProto::FLOAT));
  return out;
}

constexpr const char* kFusedData = "uint8 rows, each followed by its scale and bias.";

template <bool kFused>
void DescribeData(OpSchema& schema) {
  schema.Input(0, "quantized", kFused ? kFusedData : "uint8 N x D.");
  if (!kFused) schema.Input(1, "scale_bias", "Float N x 2: scale and bias of each row.");
}

template <bool kFused, bool kWeighted, bool kMean>
void DescribeSum(OpSchema& schema) {
  constexpr int kIndices = kWeighted ? 2 : 1;
  schema.NumInputs(kIndices + (kFused ? 2 : 3))
      .NumOutputs(1)
      .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
        if (in[0].dims_size() != 2 || in[kIndices + 1].dims_size() != 1) {
          return std::vector<TensorShape>{UnknownTensorShape()};
        }
        const int64_t width = in[0].dims(1) - (kFused ? kFusedBytes : 0);
        return std::vector<TensorShape>{
            CreateTensorShape({in[kIndices + 1].dims(0), width}, TensorProto::FLOAT)};
      })
      .SetDoc(std::string("Looks quantized rows up by index and ") +
              (kMean ? "averages" : "sums up") + " those of each segment" +
              (kWeighted ? ", each times its weight." : "."))
      .Input(0, "DATA", kFused ? kFusedData : "uint8 N x D.")
      .Input(kIndices, "INDICES", "int32 or int64: the rows to read.")
      .Input(kIndices + 1, "LENGTHS", "int32 or int64: how many of them each segment has.")
      .Output(0, "output", "Float: one row for each segment.");
  if (kWeighted) schema.Input(1, "WEIGHTS", "A float for each index.");
  if (!kFused) {
    schema.Input(kIndices + 2, "scale_bias", "Float N x 2: scale and bias of each row.");
  }
}

}  // namespace

using QuantizeFused = QuantizeRowsOp<true>;
using DequantizeFused = DequantizeRowsOp<true, false>;
using Quantize = QuantizeRowsOp<false>;
using Dequantize = DequantizeRowsOp<false, false>;
using GatherFused = DequantizeRowsOp<true, true>;
REGISTER_CPU_OPERATOR(FloatToFused8BitRowwiseQuantized, QuantizeFused);
REGISTER_CPU_OPERATOR(Fused8BitRowwiseQuantizedToFloat, DequantizeFused);
REGISTER_CPU_OPERATOR(FloatToRowwiseQuantized8Bits, Quantize);
REGISTER_CPU_OPERATOR(Rowwise8BitQuantizedToFloat, Dequantize);
REGISTER_CPU_OPERATOR(GatherFused8BitRowwise, GatherFused);

OPERATOR_SCHEMA(FloatToFused8BitRowwiseQuantized)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction(InferQuantize<true>)
    .SetDoc("Quantizes each row to 256 levels from its least to its largest element.")
    .Input(0, "input", "A float tensor [..., D], of rows along the last axis.")
    .Output(0, "output", "uint8 [..., D + 8]: the rows, each followed by its scale and bias.");
OPERATOR_SCHEMA(Fused8BitRowwiseQuantizedToFloat)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      std::vector<int64_t> dims = GetDimsVector(in[0]);
      CAFFE_ENFORCE(!dims.empty(), "quantized data must have rows");
      dims.back() -= kFusedBytes;
      return std::vector<TensorShape>{CreateTensorShape(dims, TensorProto::FLOAT)};
    })
    .FillUsing(DescribeData<true>)
    .SetDoc("The inverse of FloatToFused8BitRowwiseQuantized, but for rounding.")
    .Output(0, "output", "Float [..., D].");
OPERATOR_SCHEMA(FloatToRowwiseQuantized8Bits)
    .NumInputs(1)
    .NumOutputs(2)
    .TensorInferenceFunction(InferQuantize<false>)
    .SetDoc("Quantizes each row to 256 levels from its least to its largest element.")
    .Input(0, "input", "A float tensor [N, ...].")
    .Output(0, "quantized_input", "uint8, of its shape.")
    .Output(1, "scale_bias", "Float N x 2: scale and bias of each row.");
OPERATOR_SCHEMA(Rowwise8BitQuantizedToFloat)
    .NumInputs(2)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{CreateTensorShape(GetDimsVector(in[0]), TensorProto::FLOAT)};
    })
    .FillUsing(DescribeData<false>)
    .SetDoc("The inverse of FloatToRowwiseQuantized8Bits, but for rounding.")
    .Output(0, "output", "Float N x D.");
OPERATOR_SCHEMA(GatherFused8BitRowwise)
    .NumInputs(2)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      std::vector<int64_t> dims = GetDimsVector(in[1]);
      dims.push_back(in[0].dims(1) - kFusedBytes);
      return std::vector<TensorShape>{CreateTensorShape(dims, TensorProto::FLOAT)};
    })
    .SetDoc("Gather of quantized rows, as floats.")
    .Input(0, "DATA", kFusedData)
    .Input(1, "INDICES", "int32 or int64: the rows to read.")
    .Output(0, "OUTPUT", "Float: one row for each index.");
SHOULD_NOT_DO_GRADIENT(FloatToFused8BitRowwiseQuantized);
SHOULD_NOT_DO_GRADIENT(Fused8BitRowwiseQuantizedToFloat);
SHOULD_NOT_DO_GRADIENT(FloatToRowwiseQuantized8Bits);
SHOULD_NOT_DO_GRADIENT(Rowwise8BitQuantizedToFloat);
SHOULD_NOT_DO_GRADIENT(GatherFused8BitRowwise);

#define REGISTER_QUANTIZED_SUM(name, fused, weighted, mean)            \
  using name = SparseLengthsQuantizedOp<fused, weighted, mean>;        \
  REGISTER_CPU_OPERATOR(name, name);                                   \
  OPERATOR_SCHEMA(name).FillUsing(DescribeSum<fused, weighted, mean>); \
  SHOULD_NOT_DO_GRADIENT(name)

REGISTER_QUANTIZED_SUM(SparseLengthsSumFused8BitRowwise, true, false, false);
REGISTER_QUANTIZED_SUM(SparseLengthsMeanFused8BitRowwise, true, false, true);
REGISTER_QUANTIZED_SUM(SparseLengthsWeightedSumFused8BitRowwise, true, true, false);
REGISTER_QUANTIZED_SUM(SparseLengthsSum8BitsRowwise, false, false, false);
REGISTER_QUANTIZED_SUM(SparseLengthsMean8BitsRowwise, false, false, true);
REGISTER_QUANTIZED_SUM(SparseLengthsWeightedSum8BitsRowwise, false, true, false);
REGISTER_QUANTIZED_SUM(SparseLengthsWeightedMean8BitsRowwise, false, true, true);
#undef REGISTER_QUANTIZED_SUM

}  // namespace caffe2
