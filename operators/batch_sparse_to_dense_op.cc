// BatchSparseToDense and BatchDenseToSparse: rows of a matrix as lists of columns and values.
#include <algorithm>

#include "caffe2/core/operator.h"
#include "operators/gradient_rule.h"
#include "operators/indices.h"
#include "operators/segments.h"

namespace caffe2 {
namespace {

// Calls body(place in the matrix, entry) for all entries, which name columns of rows of `columns`.
template <typename Body>
void ForEachEntry(const Segments& rows, const std::vector<int64_t>& column, int64_t columns,
                  const Body& body) {
  for (int64_t r = 0, entry = 0; r < rows.count(); ++r) {
    for (int64_t k = 0; k < rows.length(r); ++k, ++entry) {
      body(r * columns + column[entry], entry);
    }
  }
}

class BatchSparseToDenseOp final : public Operator<CPUContext> {
 public:
  BatchSparseToDenseOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        columns_(GetSingleArgument<int64_t>("dense_last_dim", -1)),
        default_(GetSingleArgument<float>("default_value", 0.f)) {
    CAFFE_ENFORCE(columns_ == -1 || columns_ >= 1, "dense_last_dim is ", columns_);
  }
  bool RunOnDevice() override {
    const Tensor& values = Input(2);
    CAFFE_ENFORCE_EQ(values.dim(), 1, "values ", ShapeString(values.sizes()),
                     " must be one-dimensional");
    const Segments rows = Segments::FromLengths(Input(0), values.numel());
    const std::vector<int64_t> dims = OutputDims(rows.count());
    const std::vector<int64_t> column = ReadIndices(Input(1), dims[1]);
    CAFFE_ENFORCE_EQ(static_cast<int64_t>(column.size()), values.numel(), "indices, for values ",
                     ShapeString(values.sizes()));
    const float* value = values.data<float>();
    Output(0)->Resize(dims);
    float* y = Output(0)->mutable_data<float>();
    std::fill_n(y, Output(0)->numel(), default_);
    ForEachEntry(rows, column, dims[1], [&](int64_t at, int64_t entry) { y[at] = value[entry]; });
    return true;
  }

 private:
  std::vector<int64_t> OutputDims(int64_t rows) const {
    if (InputSize() < 4) {
      CAFFE_ENFORCE_GT(columns_, 0, "without an output shape, the argument dense_last_dim");
      return {rows, columns_};
    }
    const Tensor& like = Input(3);
    CAFFE_ENFORCE(like.dim() == 2 && like.size(0) == rows, "the output shape ",
                  ShapeString(like.sizes()), " for ", rows, " lengths");
    CAFFE_ENFORCE(columns_ < 0 || columns_ == like.size(1), "dense_last_dim is ", columns_,
                  ", the output shape ", ShapeString(like.sizes()));
    return like.sizes();
  }

  int64_t columns_;
  float default_;
};

class BatchDenseToSparseOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor &indices = Input(1), &dense = Input(2);
    const Segments rows = Segments::FromLengths(Input(0), indices.numel());
    CAFFE_ENFORCE(dense.dim() == 2 && dense.size(0) == rows.count(), "dense ",
                  ShapeString(dense.sizes()), " for ", rows.count(), " lengths");
    const std::vector<int64_t> column = ReadIndices(indices, dense.size(1));
    const float* x = dense.data<float>();
    Output(0)->Resize(indices.numel());
    float* y = Output(0)->mutable_data<float>();
    ForEachEntry(rows, column, dense.size(1), [&](int64_t at, int64_t entry) { y[entry] = x[at]; });
    return true;
  }
};

void DescribeRows(OpSchema& schema) {
  schema.NumOutputs(1)
      .Input(0, "lengths", "int32 or int64: how many entries each row has.")
      .Input(1, "indices", "int32 or int64: the columns of all entries, row by row.");
}

}  // namespace

REGISTER_CPU_OPERATOR(BatchSparseToDense, BatchSparseToDenseOp);
REGISTER_CPU_OPERATOR(BatchDenseToSparse, BatchDenseToSparseOp);
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
    .SetDoc("A matrix from the entries of its rows; of equal columns in a row the last one counts.")
    .Arg("dense_last_dim", "(int > 0) The columns of the matrix, unless its shape is given.")
    .Arg("default_value", "(float, default 0) What elements without entry are.")
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
