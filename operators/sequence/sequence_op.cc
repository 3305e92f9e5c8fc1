// ReversePackedSegs, RemoveDataBlocks, PadEmptySamples.
#include <algorithm>

#include "operators/common/cpu_only.h"
#include "operators/common/element_type.h"
#include "operators/common/gradient_rule.h"
#include "operators/common/indices.h"
#include "operators/common/row_copier.h"
#include "operators/segment/segments.h"
#include "operators/sequence/pack_rnn_sequence_op.h"

namespace caffe2 {
namespace {

class RemoveDataBlocksOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.dim() >= 1 && X.has_data(),
                  "the data must have at least one axis and hold elements, found ",
                  X.DebugString());
    std::vector<int64_t> indices;  // an empty list may be of any type
    if (Input(1).numel() > 0) indices = ReadIndices(Input(1), X.size(0));
    std::vector<bool> removed(X.size(0), false);
    for (const int64_t index : indices) removed[index] = true;
    RowCopier rows(X, std::count(removed.begin(), removed.end(), false), Output(0));
    for (size_t i = 0; i < removed.size(); ++i) {
      if (!removed[i]) rows.Append(static_cast<int64_t>(i));
    }
    return true;
  }
};

// An empty sample gets one entry of zeros.
class PadEmptySamplesOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Segments segments = Segments::FromLengths(Input(0));
    CAFFE_ENFORCE(OutputSize() == InputSize(), "there must be one output for each of the ",
                  InputSize(), " inputs, found ", OutputSize());
    Tensor* lengths = Output(0);
    lengths->Resize(segments.count());
    for (int64_t s = 0; s < segments.count(); ++s) {
      lengths->mutable_data<int32_t>()[s] =
          static_cast<int32_t>(std::max<int64_t>(1, segments.length(s)));
    }
    lengths->mutable_data<int32_t>();
    for (int i = 1; i < InputSize(); ++i) PadFeature(segments, Input(i), Output(i));
    return true;
  }

 private:
  void PadFeature(const Segments& segments, const Tensor& X, Tensor* Y) {
    CAFFE_ENFORCE(X.dim() >= 1 && X.size(0) == segments.size() && X.has_data(),
                  "the features must have ", segments.size(),
                  " rows, the sum of the lengths, found ", X.DebugString());
    int64_t empty = 0;
    for (int64_t s = 0; s < segments.count(); ++s) empty += segments.length(s) == 0 ? 1 : 0;
    RowCopier rows(X, X.size(0) + empty, Y);
    for (int64_t s = 0; s < segments.count(); ++s) {
      rows.Append(segments.entry(s, 0), segments.length(s));
      if (segments.length(s) == 0) rows.AppendZeros(1);
    }
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(ReversePackedSegs, ReversePackedSegsOp<CPUContext>);
REGISTER_CPU_OPERATOR(RemoveDataBlocks, RemoveDataBlocksOp);
REGISTER_CPU_OPERATOR(PadEmptySamples, PadEmptySamplesOp);
OPERATOR_SCHEMA(ReversePackedSegs)
    .NumInputs(2)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("Reverses the steps of each sequence. Steps after its end stay unchanged.")
    .Input(0, "data", "[steps, batch, ...] of any type.")
    .Input(1, "lengths", "int32 or int64: the length of each of the sequences.")
    .Output(0, "reversed data", "The result, shaped like the data.");
OPERATOR_SCHEMA(RemoveDataBlocks)
    .NumInputs(2)
    .NumOutputs(1)
    .SetDoc("Removes rows. The number of rows that are left is known at run time only.")
    .Input(0, "data", "A tensor of any type with at least one dimension.")
    .Input(1, "indices", "int32 or int64: the rows to remove; they may repeat.")
    .Output(0, "shrunk data", "The other rows, in order.")
    .CpuOnly(cpu_only::kRecords);
OPERATOR_SCHEMA(PadEmptySamples)
    .NumInputs(1, OpSchema::kUnlimited)
    .NumOutputs(1, OpSchema::kUnlimited)
    .SetDoc("Gives each sample of length 0 one entry of zeros (or empty strings).")
    .Input(0, "lengths", "int32 or int64: entries of each sample. Features follow.")
    .Output(0, "out_lengths", "int32: none is 0. The features follow.")
    .CpuOnly(cpu_only::kRecords);
REGISTER_GRADIENT(ReversePackedSegs, GradientRule<"ReversePackedSegs: GO0 I1 -> GI0">);
SHOULD_NOT_DO_GRADIENT(RemoveDataBlocks);
SHOULD_NOT_DO_GRADIENT(PadEmptySamples);

}  // namespace caffe2
