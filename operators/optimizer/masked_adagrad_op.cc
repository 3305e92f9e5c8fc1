// Adagrad of parameters with a mask that keeps elements at zero, on the CPU.
#include "operators/optimizer/masked_adagrad_op.h"

namespace caffe2 {
namespace {

void DescribePruning(OpSchema& schema) {
  schema.Arg<float>("epsilon", "(default 1e-5) Added to the divisor.")
      .Arg<float>("decay", "(default 1) The share of the moment that is kept at each update.")
      .ArgList<int>("delays", "Iterations that make a new mask. Needs iter.")
      .ArgList<float>("prune_ratios", "The share of blocks pruned by each of them.")
      .Arg<int>("block_size", "(> 0, default 1) Elements of a row that are pruned together.");
}

std::vector<TensorShape> InferSparse(const OperatorDef& def, const std::vector<TensorShape>& in) {
  std::vector<TensorShape> out{in[0], in[1]};
  out.resize(def.output_size(), UnknownTensorShape());
  return out;
}

void DescribeSparse(OpSchema& schema) {
  schema.NumInputs(6, 9)
      .NumOutputs(2, 4)
      .EnforceInplace({{0, 0}, {1, 1}})
      .AllowInplace({{0, 0}, {1, 1}, {5, 2}, {8, 3}})
      .TensorInferenceFunction(InferSparse)
      .FillUsing(DescribePruning)
      .Input(0, "param", "The float parameter; updated.")
      .Input(2, "indices", "int32 or int64: the rows to update.")
      .Input(3, "grad", "Their gradients, one row for each index.")
      .Input(4, "lr", "The learning rate, a float scalar; negative to descend.")
      .Input(
          5, "mask",
          "uint8: for each row of the parameter a bit for each block, the first in the lowest "
          "bit, which is 1 if the block is kept. With delays it holds the mask of the run before, "
          "if the output mask is the same blob; empty before the first mask.")
      .Input(6, "mask_changed", "One bool: true to mask rows without a gradient, too.")
      .Input(7, "iter", "Optional: the iteration, int64 of one element.")
      .Input(8, "last_mask_updated_iter", "Optional; not read.")
      .Output(0, "output_param", "The parameter, in place.")
      .Output(1, "output_moment_1", "The moment, in place.")
      .Output(2, "mask_out",
              "Optional, may be mask: the mask that delays made; empty before the first.")
      .Output(3, "last_mask_updated_iter_out", "Optional; not written.");
}

using CpuMaskedSparseAdagradOp = MaskedSparseAdagradOp<CPUContext, SparseUpdate>;
using CpuMaskedRowWiseSparseAdagradOp = MaskedSparseAdagradOp<CPUContext, RowWiseUpdate>;

REGISTER_CPU_OPERATOR(MaskedAdagrad, MaskedAdagradOp<CPUContext>);
REGISTER_CPU_OPERATOR(MaskedSparseAdagrad, CpuMaskedSparseAdagradOp);
REGISTER_CPU_OPERATOR(MaskedRowWiseSparseAdagrad, CpuMaskedRowWiseSparseAdagradOp);

OPERATOR_SCHEMA(MaskedAdagrad)
    .NumInputs(5, 7)
    .NumOutputs(2, 4)
    .AllowInplace({{0, 0}, {1, 1}, {4, 2}, {6, 3}})
    .TensorInferenceFunction(InferSparse)
    .FillUsing(DescribePruning)
    .SetDoc("Adagrad of a parameter with a mask that keeps elements, and their moments, at zero.")
    .Input(0, "param", "The float parameter.")
    .Input(1, "moment", "The sum of squares, shaped like it.")
    .Input(2, "grad", "The gradient, shaped like it.")
    .Input(3, "lr", "The learning rate, a float scalar; negative to descend.")
    .Input(4, "mask", "Float, shaped like it: 1 or 0; without elements, all are kept.")
    .Input(5, "iter", "With delays: the iteration, int64 of one element.")
    .Input(6, "last_mask_updated_iter", "With delays: int64 of one element, -1 at first.")
    .Output(0, "output_param", "The updated parameter.")
    .Output(1, "output_moment", "The updated moment.")
    .Output(2, "mask_out", "With delays: the mask, in place.")
    .Output(3, "last_mask_updated_iter_out", "With delays: when it was made, in place.");
OPERATOR_SCHEMA(MaskedSparseAdagrad)
    .FillUsing(DescribeSparse)
    .SetDoc("SparseAdagrad of a parameter with a mask that keeps blocks of elements at zero.")
    .Input(1, "moment", "The sum of squares, shaped like the parameter; updated.");
OPERATOR_SCHEMA(MaskedRowWiseSparseAdagrad)
    .FillUsing(DescribeSparse)
    .SetDoc(
        "RowWiseSparseAdagrad of a parameter with a mask that keeps blocks of elements at zero.")
    .Input(1, "moment", "One number for each row of the parameter; updated.");
SHOULD_NOT_DO_GRADIENT(MaskedAdagrad);
SHOULD_NOT_DO_GRADIENT(MaskedSparseAdagrad);
SHOULD_NOT_DO_GRADIENT(MaskedRowWiseSparseAdagrad);

}  // namespace
}  // namespace caffe2
