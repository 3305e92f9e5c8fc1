// FC_Sparse: a fully connected layer with a sparse weight.
#include <algorithm>

#include "caffe2/core/operator.h"
#include "caffe2/utils/parallel.h"
#include "operators/indices.h"

namespace caffe2 {
namespace {

// Y = X W' + b, W in compressed rows: row n has elements row_ends[n] to row_ends[n + 1].
class FullyConnectedSparseOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &values = Input(1), &b = Input(4);
    CAFFE_ENFORCE_EQ(X.dim(), 2, "X ", ShapeString(X.sizes()), " must be a matrix");
    const int64_t rows = X.size(0), width = X.size(1);
    const std::vector<int64_t> ends = ReadIntegers(Input(2), "iw");
    const std::vector<int64_t> columns = ReadIndices(Input(3), width);
    const int64_t outputs = b.numel(), count = values.numel();
    CAFFE_ENFORCE(static_cast<int64_t>(ends.size()) == outputs + 1 && ends.front() == 0 &&
                      ends.back() == count && std::is_sorted(ends.begin(), ends.end()),
                  "iw must ascend from 0 to the ", count, " values of the weight, in ", outputs,
                  " steps, one for each element of b");
    CAFFE_ENFORCE_EQ(static_cast<int64_t>(columns.size()), count, "jw, one for each value");
    const float *x = X.data<float>(), *w = values.data<float>(), *bias = b.data<float>();
    Output(0)->Resize(rows, outputs);
    float* y = Output(0)->mutable_data<float>();
    ParallelFor(rows, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t n = 0; n < outputs; ++n) {
          float sum = bias[n];
          for (int64_t k = ends[n]; k < ends[n + 1]; ++k) sum += x[i * width + columns[k]] * w[k];
          y[i * outputs + n] = sum;
        }
      }
    });
    return true;
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(FC_Sparse, FullyConnectedSparseOp);
OPERATOR_SCHEMA(FC_Sparse)
    .NumInputs(5)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      if (in[0].dims_size() != 2) return std::vector<TensorShape>{UnknownTensorShape()};
      return std::vector<TensorShape>{
          CreateTensorShape({in[0].dims(0), NumelOf(in[4])}, TensorProto::FLOAT)};
    })
    .SetDoc("FC with a weight N x K that is given by its rows' elements other than 0.")
    .Input(0, "X", "Float M x K.")
    .Input(1, "W_csr", "Float: the elements of the weight, row by row.")
    .Input(2, "iw", "int32 or int64, N + 1: where each row begins among them, and their number.")
    .Input(3, "jw", "int32 or int64: the column of each.")
    .Input(4, "b", "Float, N: the bias.")
    .Output(0, "Y", "Float M x N.");
SHOULD_NOT_DO_GRADIENT(FC_Sparse);

}  // namespace caffe2
