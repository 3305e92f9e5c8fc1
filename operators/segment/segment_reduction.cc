#include "operators/segment/segment_reduction.h"

#include <cmath>

#include "operators/common/element_type.h"
#include "operators/common/indices.h"

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
  std::vector<int64_t> rows;  // empty without indices
  if (spec_.sparse) {
    CAFFE_ENFORCE(Input(spec_.indices()).dim() == 1,
                  "INDICES must be one-dimensional, found shape ",
                  ShapeString(Input(spec_.indices()).sizes()));
    rows = ReadIndices(Input(spec_.indices()), num_rows);
  }
  const int64_t entries = spec_.sparse ? static_cast<int64_t>(rows.size()) : num_rows;
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
void SegmentReductionOp::Reduce(const Segments& segments, const std::vector<int64_t>& rows) {
  const Tensor& data = Input(0);
  const int64_t width = data.size_from_dim(1);
  const bool by_position = spec_.reducer == SegmentReducer::kPositionalWeightedSum;
  const float* weights = nullptr;
  if (spec_.weighted()) {
    weights = ReadWeights(Input(1), by_position ? Input(1).numel() : segments.size());
  }
  for (int64_t s = 0; by_position && s < segments.count(); ++s) {
    CAFFE_ENFORCE(segments.length(s) <= Input(1).numel(), "segment ", s, " has ",
                  segments.length(s), " entries, more than the ", Input(1).numel(), " weights");
  }
  const T* x = data.data<T>();
  std::vector<int64_t> dims = data.sizes();
  dims[0] = segments.count();
  Tensor* Y = Output(0);
  Y->Resize(dims);
  float* y = Y->mutable_data<float>();
  segments.ForEach(width, [&](int64_t s) {
    float* out = y + s * width;
    std::fill_n(out, width, 0.f);
    const int64_t n = segments.length(s);
    for (int64_t k = 0; k < n; ++k) {
      const int64_t entry = segments.entry(s, k);
      const T* row = x + (rows.empty() ? entry : rows[entry]) * width;
      if (spec_.reducer == SegmentReducer::kMax) {
        for (int64_t j = 0; j < width; ++j) {
          out[j] = k == 0 ? Widen(row[j]) : std::max(out[j], Widen(row[j]));
        }
      } else {
        const float weight = weights == nullptr ? 1.f : weights[by_position ? k : entry];
        for (int64_t j = 0; j < width; ++j) out[j] += weight * Widen(row[j]);
      }
    }
    if (spec_.reducer == SegmentReducer::kMean && n > 0) {
      const float share = 1.f / static_cast<float>(n);
      for (int64_t j = 0; j < width; ++j) out[j] *= share;
    }
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
