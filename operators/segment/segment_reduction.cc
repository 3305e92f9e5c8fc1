#include "operators/segment/segment_reduction.h"

#include <cmath>

#include "caffe2/utils/half_target.h"
#include "operators/common/element_type.h"
#include "operators/common/indices.h"
#include "operators/segment/listed_rows.h"

namespace caffe2 {
namespace {

// The number of rows of the tensor. Throws EnforceNotMet, naming it, if it has no dimension.
int64_t NumRows(const Tensor& tensor, const char* name) {
  CAFFE_ENFORCE(tensor.dim() >= 1, name, " must have at least one axis, found a scalar");
  return tensor.size(0);
}

// The weights of n entries. Throws EnforceNotMet for another shape.
const float* ReadWeights(const Tensor& weights, int64_t n) {
  CAFFE_ENFORCE(weights.dim() == 1 && weights.numel() == n,
                "there must be one weight for each of the ", n, " entries, found shape ",
                ShapeString(weights.sizes()));
  return weights.data<float>();
}

// y[j] = the weighted sum of the rows, times `share`, or with kMax their maximum. Without rows 0.
template <typename T, bool kMax>
struct RowReduction {
  ListedRows list;
  const T* x;  // the table
  int64_t width;
  float share;
  float* y;

  template <int kColumns>
  CAFFE2_INLINE void Columns(int64_t begin) const {
    float result[kColumns] = {};
    const T* from = x + begin;
    for (int64_t k = 0; k < list.n; ++k) {
      const T* row = from + list.Row(k) * width;
      if (list.rows != nullptr) PrefetchBytes<kColumns * sizeof(T)>(from + list.Ahead(k) * width);
      const float weight = list.Weight(k);
#pragma omp simd
      for (int j = 0; j < kColumns; ++j) {
        const float value = Widen(row[j]);
        if constexpr (kMax) {
          result[j] = k == 0 || result[j] < value ? value : result[j];
        } else {
          result[j] += weight * value;
        }
      }
    }
#pragma omp simd
    for (int j = 0; j < kColumns; ++j) y[begin + j] = result[j] * share;
  }
};

template <typename T, bool kMax>
CAFFE2_SIMD_CLONES void ReduceListedRows(const RowReduction<T, kMax>& reduction) {
  ForEachBlock<64>(reduction.width, reduction);
}

// The same for sums of float16. Without clones that fuse, weighted sums would round in another way
// here than for float.
#if defined(CAFFE2_HALF_TARGET) && defined(CAFFE2_CLONES_FUSE)
struct HalfRowSum {
  RowReduction<float16, false> sum;

  template <int kColumns>
  CAFFE2_HALF_TARGET void Columns(int64_t begin) const {
    constexpr int kLanes = 8;
    if constexpr (kColumns < kLanes) {
      sum.Columns<kColumns>(begin);
    } else {
      __m256 lanes[kColumns / kLanes] = {};
      const float16* from = sum.x + begin;
      for (int64_t k = 0; k < sum.list.n; ++k) {
        const float16* row = from + sum.list.Row(k) * sum.width;
        if (sum.list.rows != nullptr) {
          PrefetchBytes<kColumns * sizeof(float16)>(from + sum.list.Ahead(k) * sum.width);
        }
        const __m256 weight = _mm256_set1_ps(sum.list.Weight(k));
        for (int i = 0; i < kColumns / kLanes; ++i) {
          const auto* bits = reinterpret_cast<const __m128i*>(row + i * kLanes);
          lanes[i] = _mm256_fmadd_ps(weight, _mm256_cvtph_ps(_mm_loadu_si128(bits)), lanes[i]);
        }
      }
      const __m256 share = _mm256_set1_ps(sum.share);
      for (int i = 0; i < kColumns / kLanes; ++i) {
        _mm256_storeu_ps(sum.y + begin + i * kLanes, _mm256_mul_ps(lanes[i], share));
      }
    }
  }
};

void ReduceListedRows(const RowReduction<float16, false>& sum) {
  if (!ProcessorConvertsHalves()) return ReduceListedRows<float16, false>(sum);
  ForEachBlock<64>(sum.width, HalfRowSum{sum});
}
#endif

// list[i] = values[order[i]]
template <typename T>
std::vector<T> InOrder(const std::vector<int64_t>& order, const T* values) {
  std::vector<T> list(order.size());
  for (size_t i = 0; i < order.size(); ++i) list[i] = values[order[i]];
  return list;
}

}  // namespace

SegmentReductionOp::SegmentReductionOp(const OperatorDef& def, Workspace* ws, SegmentSpec spec)
    : Operator<CPUContext>(def, ws),
      spec_(spec),
      num_segments_(GetSingleArgument<int64_t>("num_segments", -1)) {
  CAFFE_ENFORCE(num_segments_ >= -1, "argument num_segments must be at least -1, found ",
                num_segments_);
}

bool SegmentReductionOp::RunOnDevice() {
  const Tensor &data = Input(0), &groups = Input(spec_.segments());
  const int64_t num_rows = NumRows(data, "DATA");
  std::vector<int64_t> copy;
  const int64_t* rows = nullptr;
  int64_t entries = num_rows;
  if (spec_.sparse) {
    const Tensor& indices = Input(spec_.indices());
    CAFFE_ENFORCE(indices.dim() == 1, "INDICES must be one-dimensional, found shape ",
                  ShapeString(indices.sizes()));
    rows = ReadIndices(indices, num_rows, &copy);
    entries = indices.numel();
  }
  const Segments segments =
      spec_.kind == SegmentKind::kLengths  ? Segments::FromLengths(groups, entries)
      : spec_.kind == SegmentKind::kSorted ? Segments::FromSortedIds(groups, entries)
                                           : Segments::FromIds(groups, entries, num_segments_);
  if (data.IsType<float16>()) {
    Reduce<float16>(segments, rows);
  } else if (data.IsType<bfloat16>()) {
    Reduce<bfloat16>(segments, rows);
  } else {
    Reduce<float>(segments, rows);
  }
  return true;
}

template <typename T>
void SegmentReductionOp::Reduce(const Segments& segments, const int64_t* rows) {
  if (spec_.reducer == SegmentReducer::kMax) {
    ReduceTo<T, /*kMax=*/true>(segments, rows, nullptr);
    return;
  }
  const bool by_position = spec_.reducer == SegmentReducer::kPositionalWeightedSum;
  const float* weights = nullptr;
  if (spec_.weighted()) {
    weights = ReadWeights(Input(1), by_position ? Input(1).numel() : segments.size());
  }
  for (int64_t s = 0; by_position && s < segments.count(); ++s) {
    CAFFE_ENFORCE(segments.length(s) <= Input(1).numel(), "segment ", s, " has ",
                  segments.length(s), " entries, more than the ", Input(1).numel(), " weights");
  }
  ReduceTo<T, /*kMax=*/false>(segments, rows, weights);
}

template <typename T, bool kMax>
void SegmentReductionOp::ReduceTo(const Segments& segments, const int64_t* rows,
                                  const float* weights) {
  const std::vector<int64_t>& order = segments.Order();
  std::vector<int64_t> ordered_rows;
  std::vector<float> ordered_weights;
  if (!order.empty()) {
    if (rows != nullptr) ordered_rows = InOrder(order, rows);
    rows = rows != nullptr ? ordered_rows.data() : order.data();
    if (weights != nullptr) weights = (ordered_weights = InOrder(order, weights)).data();
  }
  const bool by_position = spec_.reducer == SegmentReducer::kPositionalWeightedSum;
  const bool mean = spec_.reducer == SegmentReducer::kMean;
  const Tensor& data = Input(0);
  const int64_t width = data.size_from_dim(1);
  const T* x = data.data<T>();
  std::vector<int64_t> dims = data.sizes();
  dims[0] = segments.count();
  Tensor* Y = Output(0);
  Y->Resize(dims);
  float* y = Y->mutable_data<float>();
  segments.ForEach(width, [&](int64_t s) {
    const int64_t first = segments.Offsets()[s], n = segments.length(s);
    const ListedRows list{
        .rows = rows == nullptr ? nullptr : rows + first,
        .n = n,
        .listed = segments.size() - first,
        .weights = weights == nullptr || by_position ? weights : weights + first,
    };
    ReduceListedRows(RowReduction<T, kMax>{
        .list = list,
        .x = rows == nullptr ? x + first * width : x,
        .width = width,
        .share = mean && n > 0 ? 1.f / static_cast<float>(n) : 1.f,
        .y = y + s * width,
    });
  });
}

int64_t NumEntries(const SegmentGradientSpec& spec, const Tensor& list) {
  CAFFE_ENFORCE(spec.forward.sparse ? list.dim() == 1 : list.dim() >= 1, "input ", spec.entries(),
                " must have one axis", spec.forward.sparse ? "" : " or more", ", found shape ",
                ShapeString(list.sizes()));
  return list.size(0);
}

Segments SegmentGradientOp::ReadSegments() const {
  const Tensor &d_output = Input(spec_.d_output()), &groups = Input(spec_.segments());
  const int64_t count = NumRows(d_output, "the gradient");
  if (spec_.forward.kind != SegmentKind::kLengths) {
    return Segments::FromIds(groups, groups.numel(), count);
  }
  const Segments segments =
      spec_.entries() < 0
          ? Segments::FromLengths(groups)
          : Segments::FromLengths(groups, NumEntries(spec_, Input(spec_.entries())));
  CAFFE_ENFORCE(segments.count() == count, "the gradient must have one row for each of the ",
                segments.count(), " lengths, found shape ", ShapeString(d_output.sizes()));
  return segments;
}

bool SegmentGradientOp::RunOnDevice() {
  const Tensor& d_output = Input(spec_.d_output());
  const Segments segments = ReadSegments();
  const int64_t width = d_output.size_from_dim(1);
  std::vector<int64_t> dims = d_output.sizes();
  dims[0] = segments.size();
  CheckedNumel(dims);
  Output(0)->Resize(dims);
  if (spec_.forward.reducer == SegmentReducer::kMax) {
    GradientOfMax(segments, width);
  } else {
    GradientOfSum(segments, width);
  }
  if (spec_.d_weights()) GradientOfWeights(segments, width);
  return true;
}

// dX[e] = dY[s] where X[e] equals the maximum.
void SegmentGradientOp::GradientOfMax(const Segments& segments, int64_t width) {
  const Tensor &X = Input(spec_.data()), &Y = Input(spec_.output());
  CAFFE_ENFORCE(X.sizes() == Output(0)->sizes() && Y.sizes() == Input(spec_.d_output()).sizes(),
                "DATA ", ShapeString(X.sizes()), " and OUTPUT ", ShapeString(Y.sizes()),
                " do not fit the gradient ", ShapeString(Input(spec_.d_output()).sizes()));
  const float *x = X.data<float>(), *y = Y.data<float>();
  const float* dy = Input(spec_.d_output()).data<float>();
  float* dx = Output(0)->mutable_data<float>();
  if (width == 0) return;  // segments of nothing may be long
  segments.ForEach(width, [&](int64_t s) {
    for (int64_t k = 0; k < segments.length(s); ++k) {
      const int64_t at = segments.entry(s, k) * width;
      for (int64_t j = 0; j < width; ++j) {
        dx[at + j] = x[at + j] == y[s * width + j] ? dy[s * width + j] : 0.f;
      }
    }
  });
}

// dX[e] = dY[s] * weight[e], or dY[s] / (length of s) for means.
void SegmentGradientOp::GradientOfSum(const Segments& segments, int64_t width) {
  const float* dy = Input(spec_.d_output()).data<float>();
  const float* weights =
      spec_.forward.weighted() ? ReadWeights(Input(0), segments.size()) : nullptr;
  float* dx = Output(0)->mutable_data<float>();
  if (width == 0) return;  // segments of nothing may be long
  segments.ForEach(width, [&](int64_t s) {
    const bool mean = spec_.forward.reducer == SegmentReducer::kMean;
    const float share = mean ? 1.f / static_cast<float>(segments.length(s)) : 1.f;
    for (int64_t k = 0; k < segments.length(s); ++k) {
      const int64_t entry = segments.entry(s, k);
      const float factor = weights == nullptr ? share : weights[entry];
      for (int64_t j = 0; j < width; ++j) dx[entry * width + j] = factor * dy[s * width + j];
    }
  });
}

// dw[e] = dY[s] . X[row of e]
void SegmentGradientOp::GradientOfWeights(const Segments& segments, int64_t width) {
  const Tensor& X = Input(spec_.data());
  CAFFE_ENFORCE(X.size_from_dim(1) == width, "a row of DATA must have ", width,
                " elements, as many as a row of the gradient; found shape ",
                ShapeString(X.sizes()));
  std::vector<int64_t> rows;
  if (spec_.with_indices) {
    rows = ReadIndices(Input(spec_.indices()), NumRows(X, "DATA"));
  }
  const float *x = X.data<float>(), *dy = Input(spec_.d_output()).data<float>();
  Tensor* dW = Output(1);
  dW->Resize(segments.size());
  float* dw = dW->mutable_data<float>();
  segments.ForEach(width, [&](int64_t s) {
    for (int64_t k = 0; k < segments.length(s); ++k) {
      const int64_t entry = segments.entry(s, k);
      const float* row = x + (rows.empty() ? entry : rows[entry]) * width;
      float sum = 0;
      for (int64_t j = 0; j < width; ++j) sum += row[j] * dy[s * width + j];
      dw[entry] = sum;
    }
  });
}

std::vector<OperatorDef> SegmentGradientMaker::GetGradientDefs() {
  const bool lengths = spec_.kind == SegmentKind::kLengths;
  const bool is_max = spec_.reducer == SegmentReducer::kMax;
  const bool on_weights = lengths && spec_.weighted() &&
                          ArgumentHelper(Def()).GetSingleArgument<bool>("grad_on_weights", false);
  const bool with_data = is_max || on_weights;
  // The name is [Sparse]<form>[IndicesInGradient]<reducer>[WithMainInput][AndForwardOutput].
  const std::string& type = Def().type();
  const size_t reducer = type.find(spec_.weighted()                         ? "WeightedSum"
                                   : spec_.reducer == SegmentReducer::kMean ? "Mean"
                                   : is_max                                 ? "Max"
                                                                            : "Sum");
  const bool with_indices = lengths && (spec_.sparse ? spec_.reducer != SegmentReducer::kMean
                                                     : spec_.reducer == SegmentReducer::kSum);
  const std::string gradient_type =
      type.substr(0, reducer) + (with_indices ? "IndicesInGradient" : "") + type.substr(reducer) +
      (with_data ? "WithMainInput" : "") + (is_max ? "AndForwardOutput" : "") + "Gradient";

  std::vector<std::string> inputs, outputs{spec_.sparse ? GI_V(0) : GI(0)};
  if (spec_.weighted()) inputs.push_back(I(1));
  if (is_max) inputs.push_back(O(0));
  inputs.push_back(GO(0));
  inputs.push_back(I(spec_.segments()));
  if (with_data) inputs.push_back(I(0));
  // Without indices, Caffe2 passes the data in their place.
  if (with_indices) inputs.push_back(spec_.sparse ? I(spec_.indices()) : I(0));
  if (on_weights) outputs.push_back(GI(1));
  if (spec_.sparse) SetSparse(0, I(spec_.indices()), outputs[0]);
  return SingleGradientDef(gradient_type, "", inputs, outputs);
}

}  // namespace caffe2

#undef CAFFE2_HALF_TARGET
