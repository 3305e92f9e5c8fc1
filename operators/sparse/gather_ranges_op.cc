// GatherRanges, GatherRangesToDense: take parts of a list by offset and length.
#include <algorithm>
#include <numeric>

#include "caffe2/core/operator.h"
#include "operators/common/cpu_only.h"
#include "operators/common/indices.h"
#include "operators/common/row_copier.h"

namespace caffe2 {
namespace {

// RANGES [examples, ranges, 2]: offset and length in DATA.
struct Ranges {
  int64_t examples = 0, per_example = 0;
  std::vector<int64_t> values;

  int64_t offset(int64_t example, int64_t i) const { return values[At(example, i)]; }
  int64_t length(int64_t example, int64_t i) const { return values[At(example, i) + 1]; }

  static Ranges Read(const Tensor& ranges, int64_t size) {
    CAFFE_ENFORCE(ranges.dim() == 3 && ranges.size(2) == 2,
                  "RANGES must be [examples, ranges, 2], found shape ",
                  ShapeString(ranges.sizes()));
    Ranges result{ranges.size(0), ranges.size(1), ReadIntegers(ranges, "RANGES")};
    for (size_t i = 0; i < result.values.size(); i += 2) {
      const int64_t offset = result.values[i], length = result.values[i + 1];
      CAFFE_ENFORCE(offset >= 0 && length >= 0 && offset <= size && length <= size - offset,
                    "a range must lie in the ", size, " elements of DATA: offset ", offset,
                    ", length ", length);
    }
    return result;
  }

 private:
  int64_t At(int64_t example, int64_t i) const { return 2 * (example * per_example + i); }
};

class GatherRangesOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.dim() == 1 && X.has_data(), "DATA must be one-dimensional, found ",
                  X.DebugString());
    const Ranges ranges = Ranges::Read(Input(1), X.size(0));
    Tensor* lengths = Output(1);
    lengths->Resize(ranges.examples);
    int32_t* length = lengths->mutable_data<int32_t>();
    int64_t total = 0;
    for (int64_t e = 0; e < ranges.examples; ++e) {
      int64_t sum = 0;
      for (int64_t i = 0; i < ranges.per_example; ++i) sum += ranges.length(e, i);
      CAFFE_ENFORCE(sum <= std::numeric_limits<int32_t>::max(), "the ranges of example ", e,
                    " have ", sum, " elements, more than ", std::numeric_limits<int32_t>::max());
      length[e] = static_cast<int32_t>(sum);
      total += sum;
    }
    RowCopier elements(X, total, Output(0));
    for (int64_t e = 0; e < ranges.examples; ++e) {
      for (int64_t i = 0; i < ranges.per_example; ++i) {
        elements.Append(ranges.offset(e, i), ranges.length(e, i));
      }
    }
    return true;
  }
};

// The number of ranges of one output so far that were empty or had a wrong length.
struct OddRanges {
  int64_t empty = 0, mismatched = 0;
};

// One output for each range of an example, [examples, length of the range].
class GatherRangesToDenseOp final : public Operator<CPUContext> {
 public:
  GatherRangesToDenseOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        lengths_(GetRepeatedArgument<int64_t>("lengths")),
        min_observation_(GetSingleArgument<int64_t>("min_observation", 10000)),
        max_mismatched_ratio_(GetSingleArgument<float>("max_mismatched_ratio", 0.9f)),
        max_empty_ratio_(GetSingleArgument<float>("max_empty_ratio", 1)),
        odd_(OutputSize()) {
    CAFFE_ENFORCE(static_cast<int>(lengths_.size()) == OutputSize(),
                  "argument lengths must have one length for each of the ", OutputSize(),
                  " outputs, found ", lengths_.size());
    for (const int64_t length : lengths_)
      CAFFE_ENFORCE(length > 0, "argument lengths must be positive, found ", length);
  }

  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.dim() == 1 && X.has_data(), "DATA must be one-dimensional, found ",
                  X.DebugString());
    const Ranges ranges = Ranges::Read(Input(1), X.size(0));
    CAFFE_ENFORCE(ranges.per_example == OutputSize(), "RANGES must have one range for each of the ",
                  OutputSize(), " outputs, found ", ranges.per_example, " for each example");
    std::vector<int64_t> keys;
    if (InputSize() > 2) {
      CAFFE_ENFORCE(Input(2).sizes() == X.sizes(),
                    "KEY must have the shape of DATA: KEY has shape ",
                    ShapeString(Input(2).sizes()), ", DATA ", ShapeString(X.sizes()));
      keys = ReadIntegers(Input(2), "KEY");
    }
    seen_ += ranges.examples;
    for (int i = 0; i < OutputSize(); ++i) {
      GatherRange(X, ranges, keys, i);
      CheckRatio("elements other than the argument lengths says", i, odd_[i].mismatched,
                 max_mismatched_ratio_);
      CheckRatio("no elements", i, odd_[i].empty, max_empty_ratio_);
    }
    return true;
  }

 private:
  // Throws if the share of such ranges is too large. A maximum of 1 allows all.
  void CheckRatio(const char* what, int i, int64_t count, float max_ratio) const {
    if (max_ratio >= 1) return;
    const auto max = static_cast<double>(std::max(seen_, min_observation_)) * max_ratio;
    CAFFE_ENFORCE(static_cast<double>(count) <= max, "range ", i, " had ", what, " in ", count,
                  " of ", seen_, " examples, more than ", max);
  }

  void GatherRange(const Tensor& X, const Ranges& ranges, const std::vector<int64_t>& keys, int i) {
    const int64_t length = lengths_[i];
    CAFFE_ENFORCE(X.dtype().copy() == nullptr, "DATA must be numbers, not ", X.dtype().name());
    RowCopier elements(X, CheckedNumel({ranges.examples, length}), Output(i));
    std::vector<int64_t> order(length);
    for (int64_t e = 0; e < ranges.examples; ++e) {
      const int64_t n = ranges.length(e, i), offset = ranges.offset(e, i);
      if (n != length) {
        elements.AppendZeros(length);
        if (n == 0) {  // the example does not have the feature
          ++odd_[i].empty;
        } else if (odd_[i].mismatched++ == 0) {
          LOG(WARNING) << "range " << i << " of an example has " << n << " elements in place of "
                       << length << ": such ranges become zeros";
        }
        continue;
      }
      std::iota(order.begin(), order.end(), offset);
      if (!keys.empty()) {
        std::stable_sort(order.begin(), order.end(),
                         [&keys](int64_t a, int64_t b) { return keys[a] < keys[b]; });
      }
      for (const int64_t k : order) elements.Append(k);
    }
    Output(i)->Reshape({ranges.examples, length});
  }

  std::vector<int64_t> lengths_;
  int64_t min_observation_;
  float max_mismatched_ratio_, max_empty_ratio_;
  int64_t seen_ = 0;  // examples since the operator was made
  std::vector<OddRanges> odd_;
};

}  // namespace

REGISTER_CPU_OPERATOR(GatherRanges, GatherRangesOp);
REGISTER_CPU_OPERATOR(GatherRangesToDense, GatherRangesToDenseOp);
OPERATOR_SCHEMA(GatherRanges)
    .NumInputs(2)
    .NumOutputs(2)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      // As if the ranges covered each element of DATA once: a bound unless ranges overlap.
      std::vector<TensorShape> out{CreateTensorShape(GetDimsVector(in[0]), in[0].data_type()),
                                   UnknownTensorShape()};
      if (in[1].dims_size() > 0) out[1] = CreateTensorShape({in[1].dims(0)}, TensorProto::INT32);
      return out;
    })
    .SetDoc(
        "Joins the ranges of each example, one after another. Shape inference assumes that the "
        "ranges cover DATA, so that OUTPUT is as long.")
    .Input(0, "DATA", "A list of any type.")
    .Input(1, "RANGES", "int32 or int64 [examples, ranges, 2]: offset and length in DATA.")
    .Output(0, "OUTPUT", "The elements of all ranges of all examples.")
    .Output(1, "LENGTHS", "int32: the number of elements of each example.")
    .CpuOnly(cpu_only::kRecordFeatures);
OPERATOR_SCHEMA(GatherRangesToDense)
    .NumInputs(2, 3)
    .NumOutputs(1, OpSchema::kUnlimited)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      std::vector<TensorShape> out;
      for (const int64_t length : ArgumentHelper(def).GetRepeatedArgument<int64_t>("lengths")) {
        out.push_back(CreateTensorShape({in[1].dims_size() > 0 ? in[1].dims(0) : 0, length},
                                        in[0].data_type()));
      }
      return out;
    })
    .SetDoc(
        "One matrix for each range of an example: range i of example e is row e of output i. "
        "Ranges whose length differs from the argument become zeros. Too large a share of them, "
        "over all examples since the operator was created, is an error.")
    .ArgList<int>("lengths", "(each > 0) The length of each range.", true)
    .Arg<int>("min_observation",
              "(default 10000) As long as there are fewer examples, shares are of this number.")
    .Arg<float>("max_mismatched_ratio",
                "(default 0.9) The largest share of ranges of an output that may have a wrong "
                "length and not be empty.")
    .Arg<float>("max_empty_ratio",
                "(default 1) The largest share of ranges of an output that may be empty.")
    .Input(0, "DATA", "A list of numbers.")
    .Input(1, "RANGES", "int32 or int64 [examples, ranges, 2]: offset and length in DATA.")
    .Input(2, "KEY", "Optional int32 or int64, like DATA: ranges are sorted by these.")
    .Output(0, "OUTPUT", "[examples, length of range 0]; further ones follow.")
    .CpuOnly(cpu_only::kRecordFeatures);
SHOULD_NOT_DO_GRADIENT(GatherRanges);
SHOULD_NOT_DO_GRADIENT(GatherRangesToDense);

}  // namespace caffe2
