// BatchSparseToDense and BatchDenseToSparse: rows of a matrix as lists of columns and values.
#include "operators/sparse/batch_sparse_to_dense_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/common/host_device_op.h"

namespace caffe2 {
namespace {

void DescribeRows(OpSchema& schema) {
  schema.NumOutputs(1)
      .Input(0, "lengths", "int32 or int64: the number of entries of each row.")
      .Input(1, "indices", "int32 or int64: the columns of all entries, row by row.");
}

}  // namespace

REGISTER_CPU_OPERATOR(BatchSparseToDense, BatchSparseToDenseOp<CPUContext>);
REGISTER_CPU_OPERATOR(BatchDenseToSparse, BatchDenseToSparseOp<CPUContext>);
OPERATOR_SCHEMA(BatchSparseToDense)
    .NumInputs(3, 4)
    .FillUsing(DescribeRows)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      const auto columns = ArgumentHelper(def).GetSingleArgument<int64_t>("dense_last_dim", -1);
      if (in.size() > 3) {
        return std::vector<TensorShape>{
            CreateTensorShape(GetDimsVector(in[3]), TensorProto::FLOAT)};
      }
      if (columns < 0 || in[0].dims_size() != 1) {
        return std::vector<TensorShape>{UnknownTensorShape()};
      }
      return std::vector<TensorShape>{
          CreateTensorShape({in[0].dims(0), columns}, TensorProto::FLOAT)};
    })
    .SetDoc(
        "Makes a matrix from the entries of its rows. If a column occurs twice in a row, the last "
        "entry counts.")
    .Arg<int>("dense_last_dim", "(> 0) The columns of the matrix, unless its shape is given.")
    .Arg<float>("default_value", "(default 0) The value of elements without an entry.")
    .Input(2, "values", "Float: the values of the entries.")
    .Input(3, "output_shape_inference", "Optional: a matrix whose shape the output gets.")
    .Output(0, "dense", "Float: a row for each length.");
OPERATOR_SCHEMA(BatchDenseToSparse)
    .NumInputs(3)
    .FillUsing(DescribeRows)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{CreateTensorShape(GetDimsVector(in[1]), TensorProto::FLOAT)};
    })
    .SetDoc("The elements of a matrix that the entries name.")
    .Input(2, "dense", "A float matrix with a row for each length.")
    .Output(0, "values", "Float: the values of the entries.");
REGISTER_GRADIENT(BatchSparseToDense, GradientRule<"BatchDenseToSparse: I0 I1 GO0 -> GI2">);
REGISTER_GRADIENT(BatchDenseToSparse, GradientRule<"BatchSparseToDense: I0 I1 GO0 I2 -> GI2">);

}  // namespace caffe2
