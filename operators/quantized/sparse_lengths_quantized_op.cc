// SparseLengths{Sum, WeightedSum, Mean, WeightedMean} of quantized rows, also of tables from which
// rows were pruned.
#include "operators/common/indices.h"
#include "operators/quantized/quantized_rows.h"
#include "operators/segment/listed_rows.h"
#include "operators/segment/segments.h"

namespace caffe2 {
namespace {

using Shapes = std::vector<TensorShape>;

// The places of the rows of a pruned table: entry i is the place of row i among the rows that are
// left, or -1. A mapping of the single entry 0 means that no row was pruned.
class RowMapping {
 public:
  explicit RowMapping(const Tensor& mapping)
      : size_(mapping.numel()), places_(mapping.data<int32_t>()) {
    if (size_ == 1 && places_[0] == 0) places_ = nullptr;
  }
  bool IsIdentity() const { return places_ == nullptr; }
  // Throws EnforceNotMet for a row that is not in the mapping.
  int64_t Place(int64_t row) const {
    CAFFE_ENFORCE(row >= 0 && (IsIdentity() || row < size_), "index ", row,
                  " is out of range for a mapping of ", size_, " rows");
    return IsIdentity() ? row : places_[row];
  }

 private:
  int64_t size_;
  const int32_t* places_;
};

// y[j] = the weighted sum of the rows, times `share`. Negative rows count as 0. Columns are bytes.
template <RowFormat kFormat>
struct QuantizedRowSum {
  ListedRows list;
  QuantizedMatrix<kFormat> matrix;
  float share;
  float* y;

  template <int kColumns>
  CAFFE2_INLINE void Columns(int64_t begin) const {
    // Level i of each word has its own sums: levels of words vectorize better than bytes do.
    using Word = std::conditional_t<kColumns % sizeof(uint32_t) == 0, uint32_t, uint8_t>;
    constexpr int kWords = kColumns / sizeof(Word), kLevels = 8 * sizeof(Word) / kFormat.bits;
    float sum[kLevels][kWords] = {};
    for (int64_t k = 0; k < list.n; ++k) {
      const int64_t ahead = std::max<int64_t>(0, list.Ahead(k));
      PrefetchBytes<kColumns>(matrix.Levels(ahead) + begin);
      PrefetchBytes<1>(matrix.FactorsAt(ahead));
      const int64_t row = list.Row(k);
      if (row < 0) continue;
      const RowFactors factors = matrix.Factors(row);
      const float weight = share * list.Weight(k);
      const float scale = weight * factors.scale, bias = weight * factors.bias;
      const uint8_t* levels = matrix.Levels(row) + begin;
      for (int i = 0; i < kLevels; ++i) {
#pragma omp simd
        for (int j = 0; j < kWords; ++j) {
          const auto word = ReadWord<Word>(levels + j * sizeof(Word));
          const auto level = static_cast<int>(word >> (i * kFormat.bits) & kFormat.max_level());
          sum[i][j] += scale * static_cast<float>(level) + bias;
        }
      }
    }
    float* to = y + begin * kFormat.per_byte();
    for (int j = 0; j < kWords; ++j) {
      for (int i = 0; i < kLevels; ++i) to[j * kLevels + i] = sum[i][j];
    }
  }
};

template <RowFormat kFormat>
CAFFE2_SIMD_CLONES void SumQuantizedRows(const QuantizedRowSum<kFormat>& sum) {
  ForEachBlock<std::min(64, 128 / kFormat.per_byte())>(sum.matrix.level_bytes(), sum);
}

// Inputs: DATA, [WEIGHTS], INDICES, LENGTHS, then [SCALE_BIAS] unless fused, or with kPruned the
// mapping.
template <RowFormat kFormat, bool kWeighted, bool kMean, bool kPruned = false>
class SparseLengthsQuantizedOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  static constexpr int kIndices = kWeighted ? 2 : 1;
  bool RunOnDevice() override {
    const QuantizedMatrix<kFormat> matrix(*this, 0, kIndices + 2);
    std::vector<int64_t> copy;
    const int64_t* rows = ReadRows(matrix.rows(), &copy);
    const Segments segments = Segments::FromLengths(Input(kIndices + 1), Input(kIndices).numel());
    const float* weights = nullptr;
    if (kWeighted) {
      CAFFE_ENFORCE(Input(1).numel() == segments.size(),
                    "there must be one weight for each of the ", segments.size(),
                    " indices, found ", Input(1).numel());
      weights = Input(1).template data<float>();
    }
    const int64_t width = matrix.width();
    Output(0)->Resize(segments.count(), width);
    auto* y = Output(0)->template mutable_data<float>();
    segments.ForEach(width, [&](int64_t s) {
      const int64_t first = segments.Offsets()[s], n = segments.length(s);
      SumQuantizedRows(QuantizedRowSum<kFormat>{
          .list = {.rows = rows + first,
                   .n = n,
                   .listed = segments.size() - first,
                   .weights = weights == nullptr ? nullptr : weights + first},
          .matrix = matrix,
          .share = kMean && n > 0 ? 1.f / static_cast<float>(n) : 1.f,
          .y = y + s * width,
      });
    });
    return true;
  }

 private:
  // The row of each index, in the tensor or in `copy`; -1 for one that was pruned.
  const int64_t* ReadRows(int64_t n, std::vector<int64_t>* copy) const {
    const Tensor& indices = Input(kIndices);
    if constexpr (!kPruned) {
      return ReadIndices(indices, n, copy);
    } else {
      const RowMapping mapping(Input(kIndices + 2));
      *copy = ReadIntegers(indices, "indices");
      for (int64_t& row : *copy) {
        row = mapping.Place(row);
        if (row < 0 && !mapping.IsIdentity()) continue;
        CheckIndices(1, &row, n);
      }
      return copy->data();
    }
  }
};

// INDICES, LENGTHS, MAPPING, [WEIGHTS] -> indices, lengths and [weights] of rows that were not
// pruned.
class SparseLookupOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override { return IndexTypes::Dispatch(this, Input(0).dtype()); }
  template <typename Index>
  bool DoRunWithType() {
    const Tensor &indices = Input(0), &lengths = Input(1);
    const RowMapping mapping(Input(2));
    const Segments segments = Segments::FromLengths(lengths, indices.numel());
    const bool weighted = InputSize() > 3;
    CAFFE_ENFORCE(OutputSize() == (weighted ? 3 : 2), "there must be ", weighted ? 3 : 2,
                  " outputs, found ", OutputSize());
    if (weighted)
      CAFFE_ENFORCE(Input(3).numel() == indices.numel(),
                    "there must be one weight for each of the ", indices.numel(),
                    " indices, found ", Input(3).numel());
    const auto* index = indices.data<Index>();
    const float* weight = weighted ? Input(3).data<float>() : nullptr;
    std::vector<Index> kept;
    std::vector<float> kept_weights;
    std::vector<int32_t> kept_lengths(segments.count());
    for (int64_t s = 0; s < segments.count(); ++s) {
      for (int64_t k = 0; k < segments.length(s); ++k) {
        const int64_t entry = segments.entry(s, k), place = mapping.Place(index[entry]);
        if (place < 0) continue;
        kept.push_back(static_cast<Index>(place));
        if (weighted) kept_weights.push_back(weight[entry]);
        ++kept_lengths[s];
      }
    }
    Write(kept, Output(0));
    Write(kept_lengths, Output(1));
    if (weighted) Write(kept_weights, Output(2));
    return true;
  }

 private:
  template <typename T>
  static void Write(const std::vector<T>& values, Tensor* tensor) {
    tensor->Resize(static_cast<int64_t>(values.size()));
    std::copy(values.begin(), values.end(), tensor->mutable_data<T>());
  }
};

constexpr const char* kMappingDoc =
    "int32: for each row of the whole table its row in DATA, or -1 where it was pruned; a single 0 "
    "if none was.";

template <RowFormat kFormat, bool kWeighted, bool kMean, bool kPruned>
void DescribeSum(OpSchema& schema) {
  static constexpr int kIndices = kWeighted ? 2 : 1;
  schema.NumInputs(kIndices + (kFormat.fused && !kPruned ? 2 : 3))
      .NumOutputs(1)
      .TensorInferenceFunction([](const OperatorDef&, const Shapes& in) {
        if (in[0].dims_size() != 2 || in[kIndices + 1].dims_size() != 1) {
          return Shapes{UnknownTensorShape()};
        }
        return Shapes{CreateTensorShape({in[kIndices + 1].dims(0), kFormat.width(in[0].dims(1))},
                                        TensorProto::FLOAT)};
      })
      .SetDoc(MakeString("Looks up quantized rows by index and ", kMean ? "averages" : "sums up",
                         " the rows of each segment", kWeighted ? ", each times its weight" : "",
                         kPruned ? "; rows that were pruned count as 0." : "."))
      .Input(0, "DATA", FormatDoc(kFormat))
      .Input(kIndices, "INDICES", "int32 or int64: the rows to read.")
      .Input(kIndices + 1, "LENGTHS", "int32 or int64: the number of indices of each segment.")
      .Output(0, "output", "Float: one row for each segment.");
  if (kWeighted) schema.Input(1, "WEIGHTS", "A float for each index.");
  if (kPruned) schema.Input(kIndices + 2, "COMPRESSED_INDICES_MAPPING", kMappingDoc);
  if (!kFormat.fused) {
    schema.Input(kIndices + 2, "scale_bias", "Float N x 2: scale and bias of each row.");
  }
}

#define REGISTER_QUANTIZED_SUM(name, format, weighted, mean, pruned)                              \
  using name = SparseLengthsQuantizedOp<format, weighted, mean, pruned>;                          \
  REGISTER_CPU_OPERATOR(name, name);                                                              \
  OPERATOR_SCHEMA(name).FillUsing(DescribeSum<format, weighted, mean, pruned>).CpuOnly(kCpuOnly); \
  SHOULD_NOT_DO_GRADIENT(name)
#define REGISTER_FUSED_SUMS(bits)                                                                  \
  REGISTER_QUANTIZED_SUM(SparseLengthsSumFused##bits##BitRowwise, kFused##bits##Bit, false, false, \
                         false);                                                                   \
  REGISTER_QUANTIZED_SUM(SparseLengthsMeanFused##bits##BitRowwise, kFused##bits##Bit, false, true, \
                         false);                                                                   \
  REGISTER_QUANTIZED_SUM(SparseLengthsWeightedSumFused##bits##BitRowwise, kFused##bits##Bit, true, \
                         false, false);                                                            \
  REGISTER_QUANTIZED_SUM(SparseLengthsSum##bits##BitRowwiseSparse, kFused##bits##Bit, false,       \
                         false, true);                                                             \
  REGISTER_QUANTIZED_SUM(SparseLengthsMean##bits##BitRowwiseSparse, kFused##bits##Bit, false,      \
                         true, true);                                                              \
  REGISTER_QUANTIZED_SUM(SparseLengthsWeightedSum##bits##BitRowwiseSparse, kFused##bits##Bit,      \
                         true, false, true)

REGISTER_FUSED_SUMS(8);
REGISTER_FUSED_SUMS(4);
REGISTER_FUSED_SUMS(2);
REGISTER_QUANTIZED_SUM(SparseLengthsSum8BitsRowwise, kPlain8Bit, false, false, false);
REGISTER_QUANTIZED_SUM(SparseLengthsMean8BitsRowwise, kPlain8Bit, false, true, false);
REGISTER_QUANTIZED_SUM(SparseLengthsWeightedSum8BitsRowwise, kPlain8Bit, true, false, false);
REGISTER_QUANTIZED_SUM(SparseLengthsWeightedMean8BitsRowwise, kPlain8Bit, true, true, false);
#undef REGISTER_FUSED_SUMS
#undef REGISTER_QUANTIZED_SUM

REGISTER_CPU_OPERATOR(SparseLengthsSumSparseLookup, SparseLookupOp);
OPERATOR_SCHEMA(SparseLengthsSumSparseLookup)
    .NumInputs(3, 4)
    .NumOutputs(2, 3)
    .TensorInferenceFunction([](const OperatorDef& def, const Shapes& in) {
      Shapes out(def.output_size(), UnknownTensorShape());
      out[1] = CreateTensorShape(GetDimsVector(in[1]), TensorProto::INT32);
      return out;
    })
    .SetDoc(
        "Removes indices of pruned rows from the inputs of a SparseLengthsSum, and maps the other "
        "indices to the rows that are left of the table.")
    .Input(0, "INDICES", "int32 or int64: rows of the whole table.")
    .Input(1, "LENGTHS", "int32 or int64: the number of indices of each segment.")
    .Input(2, "COMPRESSED_INDICES_MAPPING", kMappingDoc)
    .Input(3, "WEIGHTS", "Optional: a float for each index.")
    .Output(0, "output_indices", "Rows of the pruned table, of the type of INDICES.")
    .Output(1, "output_lengths", "int32: the number of these rows of each segment.")
    .Output(2, "output_weights", "Their weights, if WEIGHTS is given.")
    .CpuOnly(kCpuOnly);
SHOULD_NOT_DO_GRADIENT(SparseLengthsSumSparseLookup);

}  // namespace
}  // namespace caffe2
