// PackSegments and UnpackSegments: segments of rows as one padded tensor, and back.
#include <algorithm>
#include <limits>

#include "caffe2/core/operator.h"
#include "operators/gradient_rule.h"
#include "operators/row_copier.h"
#include "operators/segments.h"

namespace caffe2 {
namespace {

int64_t LongestOf(const Segments& segments) {
  int64_t longest = 0;
  for (int64_t s = 0; s < segments.count(); ++s) longest = std::max(longest, segments.length(s));
  return longest;
}

// `max_length` argument; -1: as the data need.
int64_t ReadMaxLength(const OperatorBase& op) {
  const auto length = op.GetSingleArgument<int64_t>("max_length", -1);
  CAFFE_ENFORCE(length == -1 || length > 0, "the argument max_length must be positive, not ",
                length);
  return length;
}

class PackSegmentsOp final : public Operator<CPUContext> {
 public:
  PackSegmentsOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        max_length_(ReadMaxLength(*this)),
        pad_minf_(GetSingleArgument<bool>("pad_minf", false)),
        presence_(GetSingleArgument<bool>("return_presence_mask", false)) {}

  bool RunOnDevice() override {
    const Tensor &lengths = Input(0), &X = Input(1);
    CAFFE_ENFORCE(X.dim() >= 1 && X.has_data(), "the data must have rows");
    const Segments segments = Segments::FromLengths(lengths, X.size(0));
    int64_t length = max_length_ > 0 ? max_length_ : LongestOf(segments);
    if (InputSize() > 2) {
      CAFFE_ENFORCE_GE(Input(2).dim(), 2, "the packed tensor that gives the length");
      length = Input(2).size(1);
    }
    const int64_t rows = CheckedNumel({segments.count(), length});
    RowCopier copier(X, rows, Output(0));
    for (int64_t s = 0; s < segments.count(); ++s) {
      const int64_t n = std::min(length, segments.length(s));
      copier.Append(segments.entry(s, 0), n);
      if (pad_minf_) {
        copier.AppendValue(length - n, -std::numeric_limits<float>::infinity());
      } else {
        copier.AppendZeros(length - n);
      }
    }
    std::vector<int64_t> dims = X.sizes();
    dims[0] = length;
    dims.insert(dims.begin(), segments.count());
    Output(0)->Reshape(dims);
    if (presence_) WritePresence(segments, length);
    return true;
  }

 private:
  void WritePresence(const Segments& segments, int64_t length) {
    Tensor* mask = Output(1);
    mask->Resize(segments.count(), length);
    bool* present = mask->mutable_data<bool>();
    for (int64_t s = 0; s < segments.count(); ++s, present += length) {
      const int64_t n = std::min(length, segments.length(s));
      std::fill_n(present, n, true);
      std::fill_n(present + n, length - n, false);
    }
  }

  int64_t max_length_;
  bool pad_minf_, presence_;
};

class UnpackSegmentsOp final : public Operator<CPUContext> {
 public:
  UnpackSegmentsOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        max_length_(ReadMaxLength(*this)),
        restore_(GetSingleArgument<bool>("restore_cut", false)) {}

  bool RunOnDevice() override {
    const Tensor &lengths = Input(0), &X = Input(1);
    const Segments segments = Segments::FromLengths(lengths);
    CAFFE_ENFORCE(X.dim() >= 2 && X.size(0) == segments.count() && X.has_data(), "there are ",
                  segments.count(), " lengths for the packed tensor ", ShapeString(X.sizes()));
    const int64_t length = X.size(1);
    CAFFE_ENFORCE(max_length_ < 0 || max_length_ == length, "max_length is ", max_length_,
                  ", the packed tensor ", ShapeString(X.sizes()));
    // Longer segments were cut when they were packed with max_length.
    int64_t total = 0;
    for (int64_t s = 0; s < segments.count(); ++s) {
      CAFFE_ENFORCE(max_length_ > 0 || segments.length(s) <= length, "length ", segments.length(s),
                    " of segment ", s, " in a tensor ", ShapeString(X.sizes()));
      total += Unpacked(segments.length(s), length);
    }
    CAFFE_ENFORCE(!restore_ || X.dtype().copy() == nullptr, "restore_cut is for numbers");
    RowCopier rows(X, total, Output(0), 2);
    for (int64_t s = 0; s < segments.count(); ++s) {
      const int64_t n = std::min(length, segments.length(s));
      rows.Append(s * length, n);
      rows.AppendZeros(Unpacked(segments.length(s), length) - n);
    }
    return true;
  }

 private:
  int64_t Unpacked(int64_t segment_length, int64_t length) const {
    return restore_ ? segment_length : std::min(segment_length, length);
  }
  int64_t max_length_;
  bool restore_;
};

// Rows that were cut have a gradient of 0.
class GetPackSegmentsGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("UnpackSegments", "", std::vector{I(0), GO(0)}, std::vector{GI(1)},
                             std::vector<Argument>{MakeArgument("restore_cut", true)});
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(PackSegments, PackSegmentsOp);
REGISTER_CPU_OPERATOR(UnpackSegments, UnpackSegmentsOp);
OPERATOR_SCHEMA(PackSegments)
    .NumInputs(2, 3)
    .NumOutputs(1, 2)
    .SetDoc(
        "Segments of rows as one tensor, in which each is padded to the longest (or to max_length, "
        "where longer ones are cut).")
    .Arg("max_length", "(int > 0) The length of all. Default: that of the longest.")
    .Arg("pad_minf", "(bool, default 0) 1: pads with -infinity instead of 0.")
    .Arg("return_presence_mask", "(bool, default 0) 1: there is a second output.")
    .Input(0, "lengths", "int32 or int64: how many rows each segment has.")
    .Input(1, "tensor", "The rows, of any type.")
    .Input(2, "like", "Optional: all get the length that this packed tensor has. For gradients.")
    .Output(0, "packed_tensor", "[number of segments, length, rest of the rows' shape].")
    .Output(1, "presence_mask", "Bool [number of segments, length]: true where there was a row.");
OPERATOR_SCHEMA(UnpackSegments)
    .NumInputs(2)
    .NumOutputs(1)
    .SetDoc("The inverse of PackSegments: the rows without the pads.")
    .Arg("max_length", "(int > 0) As in PackSegments.")
    .Arg("restore_cut", "(bool, default 0) 1: rows that PackSegments cut come back as 0.")
    .Input(0, "lengths", "int32 or int64: how many rows each segment has.")
    .Input(1, "tensor", "The packed tensor.")
    .Output(0, "packed_tensor", "The rows; how many there are is known at run time only.");
REGISTER_GRADIENT(PackSegments, GetPackSegmentsGradient);
REGISTER_GRADIENT(UnpackSegments, GradientRule<"PackSegments: I0 GO0 I1 -> GI1">);

}  // namespace caffe2
