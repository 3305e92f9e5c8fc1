// FC_Sparse: a fully connected layer with a sparse weight.
#include "operators/matmul/fully_connected_sparse_op.h"

#include "operators/common/host_device_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(FC_Sparse, FullyConnectedSparseOp<CPUContext>);
OPERATOR_SCHEMA(FC_Sparse)
    .NumInputs(5)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      if (in[0].dims_size() != 2) return std::vector<TensorShape>{UnknownTensorShape()};
      return std::vector<TensorShape>{
          CreateTensorShape({in[0].dims(0), NumelOf(in[4])}, TensorProto::FLOAT)};
    })
    .SetDoc("FC with a sparse weight N x K in compressed rows.")
    .Input(0, "X", "Float M x K.")
    .Input(1, "W_csr", "Float: the nonzero elements of the weight, row by row.")
    .Input(2, "iw",
           "int32 or int64, N + 1: the index of each row's first element; the last is "
           "their number.")
    .Input(3, "jw", "int32 or int64: the column of each element.")
    .Input(4, "b", "Float, N: the bias.")
    .Output(0, "Y", "Float M x N.");
SHOULD_NOT_DO_GRADIENT(FC_Sparse);

}  // namespace caffe2
