// BatchSparseToDense and BatchDenseToSparse. host_device_op.h or host_device_cuda.h runs the
// functors.
#pragma once

#include <vector>

#include "caffe2/core/operator.h"
#include "operators/common/checked_indices.h"
#include "operators/sparse/batch_sparse_to_dense_functions.h"

namespace caffe2 {

// Inputs lengths, indices, values, [output_shape_inference].
template <class Context>
class BatchSparseToDenseOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  BatchSparseToDenseOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        columns_(this->template GetSingleArgument<int64_t>("dense_last_dim", -1)),
        default_(this->template GetSingleArgument<float>("default_value", 0.f)) {
    CAFFE_ENFORCE(
        columns_ == -1 || columns_ >= 1,
        "argument dense_last_dim must be positive, or -1 if an input gives the shape, found ",
        columns_);
  }
  bool RunOnDevice() override {
    const Tensor &lengths = Input(0), &indices = Input(1), &values = Input(2);
    const int64_t entries = values.numel();
    CAFFE_ENFORCE(values.dim() == 1, "values must be one-dimensional, found shape ",
                  ShapeString(values.sizes()));
    CAFFE_ENFORCE(indices.numel() == entries, "there must be one index for each value: there are ",
                  indices.numel(), " indices and ", entries, " values");
    const float* value = values.data<float>();
    Tensor storage(context_.device());
    const int64_t* offsets = SegmentOffsets(lengths, entries, &storage, &context_);
    const std::vector<int64_t> dims = OutputDims(lengths.numel());
    const RowIndices column = CheckedIndices(indices, dims[1], &context_);
    Output(0)->Resize(dims);
    ForEachRow(dims[0], dims[1],
               SparseToDenseRows{offsets, column, default_, value,
                                 Output(0)->template mutable_data<float>()},
               &context_);
    return true;
  }

 private:
  std::vector<int64_t> OutputDims(int64_t rows) const {
    if (InputSize() < 4) {
      CAFFE_ENFORCE(columns_ > 0,
                    "argument dense_last_dim must be positive where no input gives the output's "
                    "shape, found ",
                    columns_);
      return {rows, columns_};
    }
    const Tensor& like = this->template Input<Tensor>(3);
    CAFFE_ENFORCE(like.dim() == 2 && like.size(0) == rows,
                  "input 3 gives the output's shape, and must be a matrix of ", rows,
                  " rows, one for each length; found shape ", ShapeString(like.sizes()));
    CAFFE_ENFORCE(columns_ < 0 || columns_ == like.size(1), "argument dense_last_dim (", columns_,
                  ") must be the width of input 3, which has shape ", ShapeString(like.sizes()));
    return like.sizes();
  }

  int64_t columns_;
  float default_;
};

// Inputs lengths, indices, dense.
template <class Context>
class BatchDenseToSparseOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(BatchDenseToSparseOp);
  bool RunOnDevice() override {
    const Tensor &lengths = Input(0), &indices = Input(1), &dense = Input(2);
    const int64_t entries = indices.numel(), rows = lengths.numel();
    CAFFE_ENFORCE(dense.dim() == 2 && dense.size(0) == rows, "dense must be a matrix of ", rows,
                  " rows, one for each length; found shape ", ShapeString(dense.sizes()));
    const float* x = dense.data<float>();
    Tensor storage(context_.device());
    const int64_t* offsets = SegmentOffsets(lengths, entries, &storage, &context_);
    const RowIndices column = CheckedIndices(indices, dense.size(1), &context_);
    Output(0)->Resize(entries);
    ForEachRow(rows, rows == 0 ? 0 : entries / rows,
               DenseToSparseRows{offsets, column, x, Output(0)->template mutable_data<float>()},
               &context_);
    return true;
  }
};

}  // namespace caffe2
