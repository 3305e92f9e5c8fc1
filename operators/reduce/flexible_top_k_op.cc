// FlexibleTopK: the k largest elements of each row, where each row has its own k.
#include "operators/reduce/flexible_top_k_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/common/host_device_op.h"
#include "operators/reduce/select_best.h"

namespace caffe2 {

void TakeLargest(const Segments& counts, int64_t width, const float* x, float* values,
                 int64_t* indices, CPUContext* /*context*/) {
  BestElements<float> best;
  for (int64_t r = 0; r < counts.count(); ++r, x += width) {
    const std::vector<int64_t>& order = best.Select(x, width, 1, counts.length(r));
    for (int64_t i = 0; i < counts.length(r); ++i) {
      *indices++ = order[i];
      *values++ = x[order[i]];
    }
  }
}

REGISTER_CPU_OPERATOR(FlexibleTopK, FlexibleTopKOp<CPUContext>);
REGISTER_CPU_OPERATOR(FlexibleTopKGradient, FlexibleTopKGradientOp<CPUContext>);
OPERATOR_SCHEMA(FlexibleTopK)
    .NumInputs(2)
    .NumOutputs(2)
    .SetDoc(
        "The k[row] largest elements of each row (along the last axis), in the order of TopK. The "
        "size of the outputs is known at run time only.")
    .Input(0, "X", "A float tensor of at least one axis.")
    .Input(1, "k", "int32 or int64, one for each row, from 1 to the length of a row.")
    .Output(0, "Values", "One-dimensional: the values, row by row.")
    .Output(1, "Indices", "int64: their positions in their rows.");
OPERATOR_SCHEMA(FlexibleTopKGradient)
    .NumInputs(4)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("The gradient of FlexibleTopK.")
    .Input(0, "X", "As in the forward operator. Only its shape is used.")
    .Input(1, "k", "As in the forward operator.")
    .Input(2, "dValues", "The gradient of the values.")
    .Input(3, "Indices", "The second output of the forward operator.")
    .Output(0, "dX", "The gradient of X.");
REGISTER_GRADIENT(FlexibleTopK, GradientRule<"I0 I1 GO0 O1 -> GI0">);

}  // namespace caffe2
