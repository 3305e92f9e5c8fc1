#include "operators/segment/segment_reduction_cuda.h"

#include "caffe2/core/device_backend.h"
#include "operators/common/device_integers.h"
#include "operators/common/host_device_cuda.h"
#include "operators/common/indices.h"

namespace caffe2 {
namespace {

const float* WeightsOf(const Tensor& weights, int64_t entries) {
  CAFFE_ENFORCE(weights.dim() == 1 && weights.numel() == entries,
                "there must be one weight for each of the ", entries, " entries, found shape ",
                ShapeString(weights.sizes()));
  return weights.data<float>();
}

SegmentSum SumOf(SegmentReducer reducer) {
  return reducer == SegmentReducer::kMax    ? SegmentSum::kMax
         : reducer == SegmentReducer::kMean ? SegmentSum::kMean
                                            : SegmentSum::kSum;
}

}  // namespace

DeviceSegments CudaSegmentBase::SegmentsOfLengths(const Tensor& lengths, int64_t entries,
                                                  SegmentLists* lists) {
  return {ScanLengths(lengths, entries, &lists->offsets, &context_), nullptr};
}

DeviceSegments CudaSegmentBase::CopyOf(const Segments& segments, bool sorted, SegmentLists* lists) {
  std::vector<int64_t> offsets{0}, order;
  for (int64_t s = 0; s < segments.count(); ++s) {
    offsets.push_back(offsets.back() + segments.length(s));
    for (int64_t k = 0; !sorted && k < segments.length(s); ++k) {
      order.push_back(segments.entry(s, k));
    }
  }
  return {CopyList(offsets, &lists->offsets), sorted ? nullptr : CopyList(order, &lists->order)};
}

EntryRows CudaSegmentBase::RowsOf(const Tensor* indices, int64_t rows) {
  if (indices == nullptr) return {{.rows = rows}};
  const EntryRows entries{IntegersOf(*indices, rows, "INDICES")};
  LaunchCheckIndices(entries.indices, context_.report(), context_.stream());
  return entries;
}

const int64_t* CudaSegmentBase::CopyList(const std::vector<int64_t>& values, Tensor* list) {
  list->Resize(static_cast<int64_t>(values.size()));
  auto* data = list->mutable_data<int64_t>();
  context_.Copy(values.size(), values.data(), data);
  return data;
}

CudaSegmentReductionOp::CudaSegmentReductionOp(const OperatorDef& def, Workspace* ws,
                                               SegmentSpec spec)
    : CudaSegmentBase(def, ws),
      spec_(spec),
      num_segments_(GetSingleArgument<int64_t>("num_segments", -1)) {
  CAFFE_ENFORCE(num_segments_ >= -1, "argument num_segments must be at least -1, found ",
                num_segments_);
}

template <typename T>
bool CudaSegmentReductionOp::DoRunWithType() {
  const Tensor &data = Input(0), &groups = Input(spec_.segments());
  CAFFE_ENFORCE(data.dim() >= 1, "DATA must have at least one axis, found a scalar");
  const int64_t rows = data.size(0), width = data.size_from_dim(1);
  const Tensor* indices = spec_.sparse ? &Input(spec_.indices()) : nullptr;
  const int64_t num_entries = indices != nullptr ? indices->numel() : rows;
  std::vector<int64_t> dims = data.sizes();
  SegmentLists lists(context_.device());
  const DeviceSegments segments = ReadSegments(groups, num_entries, &dims[0], &lists);
  const EntryRows entries = RowsOf(indices, rows);
  const int64_t num_weights = by_position() ? Input(1).numel() : num_entries;
  const float* weights = spec_.weighted() ? WeightsOf(Input(1), num_weights) : nullptr;
  const T* x = data.data<T>();
  Tensor* Y = Output(0);
  Y->Resize(dims);
  ForEachRow(dims[0], width,
             ReduceSegments<T>{SumOf(spec_.reducer), segments, entries, weights, by_position(),
                               width, x, Y->mutable_data<float>()},
             &context_);
  return true;
}

bool CudaSegmentReductionOp::RunOnDevice() { return RealTypes::Dispatch(this, Input(0).dtype()); }

DeviceSegments CudaSegmentReductionOp::ReadSegments(const Tensor& groups, int64_t entries,
                                                    int64_t* count, SegmentLists* lists) {
  if (by_position()) return ReadPositions(groups, entries, count, lists);
  if (spec_.kind == SegmentKind::kLengths) {
    *count = groups.numel();
    return SegmentsOfLengths(groups, entries, lists);
  }
  Tensor copy(CPU);
  const Tensor& ids = OnHost(groups, &copy);
  const bool sorted = spec_.kind == SegmentKind::kSorted;
  const Segments segments = sorted ? Segments::FromSortedIds(ids, entries)
                                   : Segments::FromIds(ids, entries, num_segments_);
  *count = segments.count();
  return CopyOf(segments, sorted, lists);
}

DeviceSegments CudaSegmentReductionOp::ReadPositions(const Tensor& lengths, int64_t entries,
                                                     int64_t* count, SegmentLists* lists) {
  Tensor copy(CPU);
  const Segments segments = Segments::FromLengths(OnHost(lengths, &copy), entries);
  for (int64_t s = 0; s < segments.count(); ++s) {
    CAFFE_ENFORCE(segments.length(s) <= Input(1).numel(), "segment ", s, " has ",
                  segments.length(s), " entries, more than the ", Input(1).numel(), " weights");
  }
  *count = segments.count();
  return CopyOf(segments, /*sorted=*/true, lists);
}

bool CudaSegmentGradientOp::RunOnDevice() {
  const Tensor &d_output = Input(spec_.d_output()), &groups = Input(spec_.segments());
  CAFFE_ENFORCE(d_output.dim() >= 1, "the gradient must have at least one axis, found a scalar");
  const bool lengths = spec_.forward.kind == SegmentKind::kLengths;
  CAFFE_ENFORCE(!lengths || d_output.size(0) == groups.numel(),
                "the gradient must have one row for each of the ", groups.numel(),
                " lengths, found shape ", ShapeString(d_output.sizes()));
  const int64_t count = d_output.size(0), width = d_output.size_from_dim(1);
  const int64_t entries =
      spec_.entries() < 0 ? SumOfLengths(groups) : NumEntries(spec_, Input(spec_.entries()));
  std::vector<int64_t> dims = d_output.sizes();
  dims[0] = entries;
  Output(0)->Resize(dims);
  if (!lengths && spec_.forward.reducer != SegmentReducer::kMean) {
    ForEachRow(entries, width,
               IdGradient{RowsOf(&groups, count),
                          spec_.forward.weighted() ? WeightsOf(Input(0), entries) : nullptr, width,
                          d_output.data<float>(), Output(0)->mutable_data<float>()},
               &context_);
    return true;
  }
  SegmentLists lists(context_.device());
  const DeviceSegments segments =
      lengths ? SegmentsOfLengths(groups, entries, &lists) : SegmentsOfIds(groups, count, &lists);
  SegmentGradient gradient{.reduction = SumOf(spec_.forward.reducer),
                           .segments = segments,
                           .weights = nullptr,
                           .width = width,
                           .dy = d_output.data<float>(),
                           .x = nullptr,
                           .y = nullptr,
                           .dx = nullptr};
  if (spec_.forward.weighted()) gradient.weights = WeightsOf(Input(0), entries);
  if (spec_.with_output) {
    const Tensor &X = Input(spec_.data()), &Y = Input(spec_.output());
    CAFFE_ENFORCE(X.sizes() == dims && Y.sizes() == d_output.sizes(), "DATA ",
                  ShapeString(X.sizes()), " and OUTPUT ", ShapeString(Y.sizes()),
                  " do not fit the gradient ", ShapeString(d_output.sizes()));
    gradient.x = X.data<float>();
    gradient.y = Y.data<float>();
  }
  gradient.dx = Output(0)->mutable_data<float>();
  // Segments of rows without elements may be long.
  if (width > 0) ForEachRow(count, width, gradient, &context_);
  if (spec_.d_weights()) GradientOfWeights(segments, count, entries, width, gradient.dy);
  return true;
}

DeviceSegments CudaSegmentGradientOp::SegmentsOfIds(const Tensor& groups, int64_t count,
                                                    SegmentLists* lists) {
  Tensor copy(CPU);
  const Tensor& ids = OnHost(groups, &copy);
  return CopyOf(Segments::FromIds(ids, ids.numel(), count), /*sorted=*/false, lists);
}

int64_t CudaSegmentGradientOp::SumOfLengths(const Tensor& lengths) const {
  Tensor copy(CPU);
  return Segments::FromLengths(OnHost(lengths, &copy)).size();
}

void CudaSegmentGradientOp::GradientOfWeights(const DeviceSegments& segments, int64_t count,
                                              int64_t entries, int64_t width, const float* dy) {
  const Tensor& X = Input(spec_.data());
  CAFFE_ENFORCE(X.dim() >= 1 && X.size_from_dim(1) == width, "a row of DATA must have ", width,
                " elements, as many as a row of the gradient; found shape ",
                ShapeString(X.sizes()));
  const Tensor* indices = spec_.with_indices ? &Input(spec_.indices()) : nullptr;
  const EntryRows rows = RowsOf(indices, X.size(0));
  Output(1)->Resize(entries);
  ForEachRow(count, width,
             SegmentWeightGradient{segments, rows, width, dy, X.data<float>(),
                                   Output(1)->mutable_data<float>()},
             &context_);
}

}  // namespace caffe2
