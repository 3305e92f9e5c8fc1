// Schemas of the operators of segment_reduction.h.
#include <cctype>

#include "operators/segment/segment_reduction.h"

namespace caffe2 {
namespace {

const char* Formula(SegmentReducer reducer) {
  switch (reducer) {
    case SegmentReducer::kSum:
      return "sums up the rows of each segment.";
    case SegmentReducer::kMean:
      return "averages the rows of each segment.";
    case SegmentReducer::kMax:
      return "takes the largest element of each column over the rows of each segment.";
    case SegmentReducer::kWeightedSum:
      return "sums up the rows of each segment, each times its weight.";
    case SegmentReducer::kPositionalWeightedSum:
      return "sums up the rows of each segment, the k-th times weight k.";
  }
  return "";
}

void DescribeGroups(OpSchema& schema, SegmentKind kind, int input) {
  if (kind == SegmentKind::kLengths) {
    schema.Input(input, "LENGTHS", "int32 or int64: the number of rows of each segment.");
  } else {
    schema.Input(input, "SEGMENT_IDS",
                 kind == SegmentKind::kSorted
                     ? "int32 or int64: the segment of each row; sorted, from 0, without gaps."
                     : "int32 or int64: the segment of each row, in any order.");
  }
}

std::vector<TensorShape> InferReduction(const OperatorDef& def, SegmentSpec spec,
                                        const std::vector<TensorShape>& in) {
  int64_t segments = ArgumentHelper(def).GetSingleArgument<int64_t>("num_segments", -1);
  if (spec.kind == SegmentKind::kLengths && in[spec.segments()].dims_size() == 1) {
    segments = in[spec.segments()].dims(0);
  } else if (spec.kind != SegmentKind::kUnsorted) {
    segments = -1;
  }
  if (segments < 0 || in[0].dims_size() == 0) return {UnknownTensorShape()};
  std::vector<int64_t> dims = GetDimsVector(in[0]);
  dims[0] = segments;
  return {CreateTensorShape(dims, TensorProto::FLOAT)};
}

std::vector<TensorShape> InferGradient(SegmentGradientSpec spec,
                                       const std::vector<TensorShape>& in) {
  const int source = spec.entries();
  const TensorShape& d_output = in[spec.d_output()];
  std::vector<TensorShape> out(spec.d_weights() ? 2 : 1, UnknownTensorShape());
  if (source < 0 || in[source].dims_size() == 0 || d_output.dims_size() == 0) return out;
  out[0] = d_output;
  out[0].set_dims(0, in[source].dims(0));
  if (spec.d_weights()) out[1] = CreateTensorShape({in[source].dims(0)}, TensorProto::FLOAT);
  return out;
}

}  // namespace

void DescribeSegmentReduction(OpSchema& schema, SegmentSpec spec) {
  std::string doc = Formula(spec.reducer);
  if (spec.sparse) {
    doc = "Looks rows of DATA up by index and " + doc;
  } else {
    doc[0] = static_cast<char>(std::toupper(doc[0]));
  }
  schema.NumInputs(spec.num_inputs())
      .NumOutputs(1)
      .TensorInferenceFunction([spec](const OperatorDef& def, const std::vector<TensorShape>& in) {
        return InferReduction(def, spec, in);
      })
      .SetDoc(doc + " A segment without rows gives 0.")
      .Input(0, "DATA", "Rows: a float, float16 or bfloat16 tensor of at least one dimension.")
      .Output(0, "OUTPUT", "Float: one row for each segment.");
  if (spec.weighted()) {
    schema.Input(1, "WEIGHTS",
                 spec.reducer == SegmentReducer::kWeightedSum
                     ? "One float for each of the rows that are summed up."
                     : "One float for each position in a segment; as many as the longest has.");
  }
  if (spec.sparse) {
    schema.Input(spec.indices(), "INDICES", "int32 or int64: the rows of DATA to read.");
  }
  if (spec.kind == SegmentKind::kLengths && spec.reducer == SegmentReducer::kWeightedSum) {
    schema.Arg<bool>("grad_on_weights", "(default 0) 1: the weights get a gradient, too.");
  }
  if (spec.kind == SegmentKind::kUnsorted) {
    schema.Arg<int>("num_segments",
                    "(>= -1) The number of segments. Default (and -1): the largest id plus 1.");
  }
  DescribeGroups(schema, spec.kind, spec.segments());
}

void DescribeSegmentGradient(OpSchema& schema, SegmentGradientSpec spec) {
  schema.NumInputs(spec.num_inputs())
      .NumOutputs(spec.d_weights() ? 2 : 1)
      .TensorInferenceFunction([spec](const OperatorDef&, const std::vector<TensorShape>& in) {
        return InferGradient(spec, in);
      })
      .SetDoc(std::string("The gradient of the operator that ") + Formula(spec.forward.reducer))
      .Input(spec.d_output(), "dOUTPUT", "The gradient of the output.")
      .Output(0, "dDATA", "The gradient of each of the rows that were read.");
  if (spec.forward.weighted()) schema.Input(0, "WEIGHTS", "As in the forward operator.");
  if (spec.with_output) {
    schema.Input(spec.output(), "OUTPUT", "The output of the forward operator.");
  }
  DescribeGroups(schema, spec.forward.kind, spec.segments());
  if (spec.with_data) schema.Input(spec.data(), "DATA", "As in the forward operator, but float.");
  if (spec.with_indices) {
    schema.Input(spec.indices(), "INDICES",
                 spec.forward.sparse ? "As in the forward operator."
                                     : "DATA of the forward operator. Only its shape is used.");
  }
  if (spec.d_weights()) schema.Output(1, "dWEIGHTS", "The gradient of the weights.");
}

}  // namespace caffe2
