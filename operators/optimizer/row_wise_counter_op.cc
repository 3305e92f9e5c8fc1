// RowWiseCounter: counts recent updates of the rows of a parameter.
#include "operators/optimizer/row_wise_counter_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(RowWiseCounter, RowWiseCounterOp<CPUContext>);
OPERATOR_SCHEMA(RowWiseCounter)
    .NumInputs(4)
    .NumOutputs(2)
    .EnforceInplace({{0, 0}, {1, 1}})
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in[0], in[1]};
    })
    .SetDoc(
        "Counts the updates of the rows of a parameter. An update counts 1; its weight halves "
        "every counter_halflife iterations. A count is brought up to date when its row is updated.")
    .Arg<int>("counter_halflife",
              "(default -1) Iterations in which a count halves. 0 or negative: no counting.")
    .Input(0, "prev_iter",
           "int64, one for each row: the latest iteration that updated it; updated.")
    .Input(1, "update_counter", "double, one for each row: its count; updated.")
    .Input(2, "indices", "int32 or int64: the rows that are updated.")
    .Input(3, "iter", "The iteration, int64 of one element.")
    .Output(0, "output_prev_iter", "The iterations, in place.")
    .Output(1, "output_update_counter", "The counts, in place.");
NO_GRADIENT(RowWiseCounter);

}  // namespace caffe2
