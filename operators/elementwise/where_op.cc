#include "operators/elementwise/where_op.h"

namespace caffe2 {
template <typename T>
void Select(int64_t rows, int64_t row, const bool* choose, const T* x, const T* y, T* z,
            CPUContext*) {
  for (int64_t i = 0, k = 0; i < rows; ++i) {
    const T* source = choose[i] ? x : y;
    for (const int64_t end = k + row; k < end; ++k) z[k] = source[k];
  }
}

REGISTER_CPU_OPERATOR(Where, WhereOp<CPUContext>);
OPERATOR_SCHEMA(Where)
    .NumInputs(3)
    .NumOutputs(1)
    .AllowInplace({{1, 0}, {2, 0}})
    .IdenticalTypeAndShapeOfInput(1)
    .SetDoc("Z = X where the condition is true, Y elsewhere.")
    .Arg("broadcast_on_rows", "1: the condition chooses whole rows. Default 0.")
    .Input(0, "C", "Bool tensor of X's shape, or with broadcast_on_rows of one element a row.")
    .Input(1, "X", "Values where the condition is true.")
    .Input(2, "Y", "Values where it is false; of X's type and shape.")
    .Output(0, "Z", "The chosen values.");
SHOULD_NOT_DO_GRADIENT(Where);

}  // namespace caffe2
