// PackRNNSequence and UnpackRNNSequence: convert sequences to [steps, batch, ...], and back.
#include "operators/sequence/pack_rnn_sequence_op.h"

#include "operators/common/gradient_rule.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(PackRNNSequence, PackRNNSequenceOp<CPUContext>);
REGISTER_CPU_OPERATOR(UnpackRNNSequence, UnpackRNNSequenceOp<CPUContext>);
OPERATOR_SCHEMA(PackRNNSequence)
    .NumInputs(2)
    .NumOutputs(1)
    .SetDoc(
        "Writes sequences, which follow each other, as the columns of one tensor, padded with 0.")
    .Input(0, "values", "The steps of all sequences: rows of any type.")
    .Input(1, "lengths", "int32 or int64: the number of steps of each sequence.")
    .Output(0, "output", "[longest, number of sequences, shape of a row].");
OPERATOR_SCHEMA(UnpackRNNSequence)
    .NumInputs(2)
    .NumOutputs(1)
    .SetDoc("The inverse of PackRNNSequence.")
    .Input(0, "values", "[steps, number of sequences, ...].")
    .Input(1, "lengths", "int32 or int64: the number of steps of each sequence.")
    .Output(0, "output", "The steps of all sequences; their number is known at run time only.");
REGISTER_GRADIENT(PackRNNSequence, GradientRule<"UnpackRNNSequence: GO0 I1 -> GI0">);
REGISTER_GRADIENT(UnpackRNNSequence, GradientRule<"PackRNNSequence: GO0 I1 -> GI0">);

}  // namespace caffe2
