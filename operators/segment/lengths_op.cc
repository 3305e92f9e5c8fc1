// Conversions between lengths, segment ids, ranges and weights; LengthsTile, LengthsGather.
#include <cmath>

#include "operators/common/cpu_only.h"
#include "operators/common/element_type.h"
#include "operators/common/gradient_rule.h"
#include "operators/common/indices.h"
#include "operators/segment/lengths_rows_op.h"
#include "operators/segment/segments.h"

namespace caffe2 {
namespace {

class LengthsToSegmentIdsOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Segments segments = Segments::FromLengths(Input(0));
    Tensor* ids = Output(0);
    ids->Resize(segments.size());
    int32_t* id = ids->mutable_data<int32_t>();
    for (int64_t s = 0; s < segments.count(); ++s) {
      id = std::fill_n(id, segments.length(s), static_cast<int32_t>(s));
    }
    return true;
  }
};

class LengthsToRangesOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Segments segments = Segments::FromLengths(Input(0));
    CAFFE_ENFORCE(segments.size() <= std::numeric_limits<int32_t>::max(), "the lengths add up to ",
                  segments.size(), ", more than ", std::numeric_limits<int32_t>::max());
    Tensor* ranges = Output(0);
    ranges->Resize(segments.count(), 2);
    int32_t* range = ranges->mutable_data<int32_t>();
    int64_t offset = 0;
    for (int64_t s = 0; s < segments.count(); offset += segments.length(s), ++s) {
      *range++ = static_cast<int32_t>(offset);
      *range++ = static_cast<int32_t>(segments.length(s));
    }
    return true;
  }
};

class LengthsToOffsetsOp final : public Operator<CPUContext> {
 public:
  LengthsToOffsetsOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        last_(GetSingleArgument<bool>("include_last_offset", false)) {}
  bool RunOnDevice() override {
    const Segments segments = Segments::FromLengths(Input(0));
    CAFFE_ENFORCE(segments.size() <= std::numeric_limits<int32_t>::max(), "the lengths add up to ",
                  segments.size(), ", more than ", std::numeric_limits<int32_t>::max());
    Output(0)->Resize(segments.count() + (last_ ? 1 : 0));
    int32_t* offset = Output(0)->mutable_data<int32_t>();
    for (int64_t s = 0; s < segments.count(); ++s) {
      *offset++ = static_cast<int32_t>(segments.entry(s, 0));
    }
    if (last_) *offset = static_cast<int32_t>(segments.size());
    return true;
  }

 private:
  bool last_;
};

void CheckSorted(const Tensor& ids, const std::vector<int64_t>& values) {
  CAFFE_ENFORCE(ids.dim() == 1, "segment ids must have one axis, found shape ",
                ShapeString(ids.sizes()));
  const auto smaller = std::is_sorted_until(values.begin(), values.end());
  CAFFE_ENFORCE(smaller == values.end(), "segment ids must be sorted, but element ",
                smaller - values.begin(), " is ", *smaller, ", after ", *(smaller - 1));
}

// With kRanges it writes the offset of each segment and its length.
template <bool kRanges>
class SegmentIdsToLengthsOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor& ids = Input(0);
    const std::vector<int64_t> values = ReadIntegers(ids, "segment_ids");
    CheckSorted(ids, values);
    CAFFE_ENFORCE(values.empty() || values[0] >= 0, "a segment id must not be negative, found ",
                  values[0]);
    const int64_t min = InputSize() > 1 && Input(1).dim() > 0 ? Input(1).size(0) : 0;
    const int64_t count = std::max(min, values.empty() ? 0 : CountOf(values.back()));
    CAFFE_ENFORCE(count <= int64_t{1} << 31, "there are ", count, " segments, more than ",
                  int64_t{1} << 31);
    std::vector<int32_t> lengths(count);
    for (const int64_t id : values) ++lengths[id];
    Tensor* Y = Output(0);
    if (kRanges) {
      Y->Resize(count, 2);
    } else {
      Y->Resize(count);
    }
    int32_t* y = Y->mutable_data<int32_t>();
    int32_t offset = 0;
    for (const int32_t length : lengths) {
      if (kRanges) *y++ = offset;
      *y++ = length;
      offset += length;
    }
    return true;
  }

 private:
  static int64_t CountOf(int64_t last) {
    CAFFE_ENFORCE(last < int64_t{1} << 31, "a segment id must be less than ", int64_t{1} << 31,
                  ", found ", last);
    return last + 1;
  }
};

class LengthsToWeightsOp final : public Operator<CPUContext> {
 public:
  LengthsToWeightsOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), power_(GetSingleArgument<float>("power", 0.5f)) {}
  bool RunOnDevice() override {
    const Segments segments = Segments::FromLengths(Input(0));
    Tensor* weights = Output(0);
    weights->Resize(segments.size());
    float* weight = weights->mutable_data<float>();
    for (int64_t s = 0; s < segments.count(); ++s) {
      const int64_t n = segments.length(s);
      weight = std::fill_n(weight, n, std::pow(static_cast<float>(n), -power_));
    }
    return true;
  }

 private:
  float power_;
};

class LengthsToShapeOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor& lengths = Input(0);
    CAFFE_ENFORCE(lengths.dim() == 1, "the lengths must be one-dimensional, found shape ",
                  ShapeString(lengths.sizes()));
    const std::vector<int64_t> values = ReadIntegers(lengths, "lengths");
    CAFFE_ENFORCE(!values.empty(), "there must be at least one length, found none");
    for (const int64_t value : values) {
      CAFFE_ENFORCE(value == values[0], "all lengths must be the same, found ", value, " and ",
                    values[0]);
    }
    Tensor* shape = Output(0);
    shape->Resize(2);
    shape->mutable_data<int32_t>()[0] = static_cast<int32_t>(values.size());
    shape->mutable_data<int32_t>()[1] = static_cast<int32_t>(values[0]);
    return true;
  }
};

void DescribeLengths(OpSchema& schema) {
  schema.NumInputs(1).NumOutputs(1).Input(0, "lengths",
                                          "int32 or int64, one-dimensional, none negative.");
}

}  // namespace

REGISTER_CPU_OPERATOR(LengthsToSegmentIds, LengthsToSegmentIdsOp);
REGISTER_CPU_OPERATOR(LengthsToRanges, LengthsToRangesOp);
REGISTER_CPU_OPERATOR(LengthsToOffsets, LengthsToOffsetsOp);
REGISTER_CPU_OPERATOR(SegmentIdsToLengths, SegmentIdsToLengthsOp<false>);
REGISTER_CPU_OPERATOR(SegmentIdsToRanges, SegmentIdsToLengthsOp<true>);
REGISTER_CPU_OPERATOR(LengthsToWeights, LengthsToWeightsOp);
REGISTER_CPU_OPERATOR(LengthsToShape, LengthsToShapeOp);
REGISTER_CPU_OPERATOR(LengthsTile, LengthsTileOp<CPUContext>);
REGISTER_CPU_OPERATOR(LengthsGather, LengthsGatherOp<CPUContext>);

OPERATOR_SCHEMA(LengthsToSegmentIds)
    .FillUsing(DescribeLengths)
    .SetDoc("Converts lengths to segment ids: [1, 3, 0, 2] becomes [0, 1, 1, 1, 3, 3].")
    .Output(0, "segment_ids", "int32: the segment of each entry.")
    .CpuOnly(cpu_only::kLengths);
OPERATOR_SCHEMA(LengthsToOffsets)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      const bool last = ArgumentHelper(def).GetSingleArgument<bool>("include_last_offset", false);
      return std::vector<TensorShape>{
          CreateTensorShape({NumelOf(in[0]) + (last ? 1 : 0)}, TensorProto::INT32)};
    })
    .SetDoc("Converts lengths to offsets of segments: [1, 3, 0, 2] becomes [0, 1, 4, 4].")
    .Arg<bool>("include_last_offset", "(default 0) 1: the sum of all lengths follows.")
    .Input(0, "lengths", "int32 or int64, one-dimensional.")
    .Output(0, "offsets", "int32: the offset of each segment.")
    .CpuOnly(cpu_only::kLengths);
OPERATOR_SCHEMA(LengthsToRanges)
    .FillUsing(DescribeLengths)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      if (in[0].dims_size() != 1) return std::vector<TensorShape>{UnknownTensorShape()};
      return std::vector<TensorShape>{CreateTensorShape({in[0].dims(0), 2}, TensorProto::INT32)};
    })
    .SetDoc("Converts lengths to offsets and lengths: [1, 3] becomes [[0, 1], [1, 3]].")
    .Output(0, "ranges", "int32 [number of lengths, 2].")
    .CpuOnly(cpu_only::kLengths);
OPERATOR_SCHEMA(SegmentIdsToLengths)
    .NumInputs(1, 2)
    .NumOutputs(1)
    .SetDoc("Converts segment ids to lengths: [0, 0, 2] becomes [2, 0, 1].")
    .Input(0, "segment_ids", "int32 or int64, sorted, none negative.")
    .Input(1, "data", "Optional: there are at least as many lengths as it has rows.")
    .Output(0, "lengths", "int32, one for each segment up to the last one that occurs.")
    .CpuOnly(cpu_only::kLengths);
OPERATOR_SCHEMA(SegmentIdsToRanges)
    .NumInputs(1, 2)
    .NumOutputs(1)
    .SetDoc("Converts segment ids to offsets and lengths: [0, 0, 1] becomes [[0, 2], [2, 1]].")
    .Input(0, "segment_ids", "int32 or int64, sorted, none negative.")
    .Input(1, "data", "Optional: there are at least as many ranges as it has rows.")
    .Output(0, "ranges", "int32 [number of segments, 2].")
    .CpuOnly(cpu_only::kLengths);
OPERATOR_SCHEMA(LengthsToWeights)
    .FillUsing(DescribeLengths)
    .SetDoc("For each entry 1 / length^power of its segment: [2, 0, 3] gives 5 weights.")
    .Arg<float>("power", "(default 0.5) The power.")
    .Output(0, "weights", "Float, one for each entry.")
    .CpuOnly(cpu_only::kLengths);
OPERATOR_SCHEMA(LengthsToShape)
    .FillUsing(DescribeLengths)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>&) {
      return std::vector<TensorShape>{CreateTensorShape({2}, TensorProto::INT32)};
    })
    .SetDoc("The shape [number, length] of segments of equal length. Other lengths are an error.")
    .Output(0, "shape", "int32 of two elements.")
    .CpuOnly(cpu_only::kLengths);
OPERATOR_SCHEMA(LengthsTile)
    .NumInputs(2)
    .NumOutputs(1)
    .SetDoc("Repeats each row of DATA as often as its length says.")
    .Input(0, "DATA", "A tensor of any type with at least one dimension.")
    .Input(1, "LENGTHS", "int32 or int64, one for each row, none negative.")
    .Output(0, "OUTPUT", "The rows; their number is known at run time only.");
OPERATOR_SCHEMA(LengthsGather)
    .NumInputs(3)
    .NumOutputs(1)
    .SetDoc("The rows of the segments that INDICES names, one segment after another.")
    .Input(0, "ITEMS", "A tensor of any type with at least one dimension.")
    .Input(1, "LENGTHS", "int32 or int64: the number of rows of each segment.")
    .Input(2, "INDICES", "int32 or int64: the segments to take.")
    .Output(0, "OUTPUT", "Their rows; their number is known at run time only.");
NO_GRADIENT(LengthsToSegmentIds);
NO_GRADIENT(LengthsToRanges);
NO_GRADIENT(LengthsToOffsets);
NO_GRADIENT(SegmentIdsToLengths);
NO_GRADIENT(SegmentIdsToRanges);
NO_GRADIENT(LengthsToWeights);
NO_GRADIENT(LengthsToShape);
REGISTER_GRADIENT(LengthsTile, GradientRule<"LengthsSum: GO0 I1 -> GI0">);
SHOULD_NOT_DO_GRADIENT(LengthsGather);

}  // namespace caffe2
