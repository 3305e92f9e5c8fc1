#include "operators/optimizer/sparse_normalize_op.h"

namespace caffe2 {
namespace {

void SparseNormalizeSchema(OpSchema& schema) {
  schema.NumInputs(2, 3)
      .NumOutputs(1)
      .EnforceInplace({{0, 0}})
      .IdenticalTypeAndShapeOfInput(0)
      .Arg<bool>("use_max_norm", "(default 1) 0: rows with a smaller norm are scaled, too.")
      .Arg<float>("norm", "(>= 0, default 1) The norm.")
      .Input(1, "indices", "int32 or int64: the rows.")
      .Input(2, "grad", "Optional; not read. Accepted for the signature of sparse optimizers.")
      .Output(0, "output_param", "The parameter, in place.");
}

}  // namespace

REGISTER_CPU_OPERATOR(SparseNormalize, SparseNormalizeOp<CPUContext, float>);
REGISTER_CPU_OPERATOR(Float16SparseNormalize, SparseNormalizeOp<CPUContext, float16>);

OPERATOR_SCHEMA(SparseNormalize)
    .FillUsing(SparseNormalizeSchema)
    .SetDoc(
        "Scales rows of a parameter to the Euclidean norm `norm`; by default only rows with a "
        "larger norm. Rows of zeros stay.")
    .Input(0, "param", "The float parameter; updated.");
SHOULD_NOT_DO_GRADIENT(SparseNormalize);

OPERATOR_SCHEMA(Float16SparseNormalize)
    .FillUsing(SparseNormalizeSchema)
    .SetDoc("SparseNormalize of float16: the norm is summed in double, each element rounded once.")
    .Input(0, "param", "The float16 parameter; updated.");
SHOULD_NOT_DO_GRADIENT(Float16SparseNormalize);

}  // namespace caffe2
