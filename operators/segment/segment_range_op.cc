// SortedSegmentRange{Sum, Mean, Max, LogSumExp, LogMeanExp}: reductions of runs of rows.
#include "operators/segment/segment_range_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/common/host_device_op.h"

namespace caffe2 {
namespace {

void Describe(OpSchema& schema) {
  schema.NumInputs(2)
      .NumOutputs(1)
      .Input(0, "DATA", "Rows: a float tensor of at least one dimension.")
      .Input(1, "SEGMENT_IDS",
             "int32 or int64: the segment of each row; sorted, from 0, without gaps.")
      .Output(0, "OUTPUT", "One row for each segment; their number is known at run time only.");
}

void DescribeGradient(OpSchema& schema) {
  schema.NumInputs(4)
      .NumOutputs(1)
      .IdenticalTypeAndShapeOfInput(0)
      .SetDoc("The gradient of the operator of the same name.")
      .Input(0, "DATA", "As in the forward operator.")
      .Input(1, "OUTPUT", "The output of the forward operator.")
      .Input(2, "dOUTPUT", "The gradient of the output.")
      .Input(3, "SEGMENT_IDS", "As in the forward operator.")
      .Output(0, "dDATA", "The gradient of DATA, shaped like it.");
}

}  // namespace

#define REGISTER_SEGMENT_RANGE(name, kind, doc)                                                  \
  REGISTER_CPU_OPERATOR(name, SegmentRangeOp<CPUContext, RangeReducer::kind>);                   \
  REGISTER_CPU_OPERATOR(name##Gradient, SegmentRangeGradientOp<CPUContext, RangeReducer::kind>); \
  OPERATOR_SCHEMA(name).FillUsing(Describe).SetDoc(doc);                                         \
  OPERATOR_SCHEMA(name##Gradient).FillUsing(DescribeGradient);                                   \
  REGISTER_GRADIENT(name, GradientRule<"I0 O0 GO0 I1 -> GI0">)

REGISTER_SEGMENT_RANGE(SortedSegmentRangeSum, kSum, "Sums up the rows of each segment.");
REGISTER_SEGMENT_RANGE(SortedSegmentRangeMean, kMean, "Averages the rows of each segment.");
REGISTER_SEGMENT_RANGE(SortedSegmentRangeMax, kMax,
                       "Takes the largest element of each column over a segment's rows.");
REGISTER_SEGMENT_RANGE(SortedSegmentRangeLogSumExp, kLogSumExp,
                       "log(sum of e^x) over each segment's rows, column by column.");
REGISTER_SEGMENT_RANGE(SortedSegmentRangeLogMeanExp, kLogMeanExp,
                       "log(mean of e^x) over each segment's rows, column by column.");
#undef REGISTER_SEGMENT_RANGE

}  // namespace caffe2
