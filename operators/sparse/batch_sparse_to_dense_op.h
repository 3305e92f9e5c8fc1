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
    CAFFE_ENFORCE(columns_ == -1 || columns_ >= 1, "dense_last_dim is ", columns_);
  }
  bool RunOnDevice() override {
    const Tensor &lengths = Input(0), &indices = Input(1), &values = Input(2);
    const int64_t entries = values.numel();
    CAFFE_ENFORCE_EQ(values.dim(), 1, "values ", ShapeString(values.sizes()),
                     " must be one-dimensional");
    CAFFE_ENFORCE_EQ(indices.numel(), entries, "indices, for values ", ShapeString(values.sizes()));
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
      CAFFE_ENFORCE_GT(columns_, 0, "without an output shape, the argument dense_last_dim");
      return {rows, columns_};
    }
    const Tensor& like = this->template Input<Tensor>(3);
    CAFFE_ENFORCE(like.dim() == 2 && like.size(0) == rows, "the output shape ",
                  ShapeString(like.sizes()), " for ", rows, " lengths");
    CAFFE_ENFORCE(columns_ < 0 || columns_ == like.size(1), "dense_last_dim is ", columns_,
                  ", the output shape ", ShapeString(like.sizes()));
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
    CAFFE_ENFORCE(dense.dim() == 2 && dense.size(0) == rows, "dense ", ShapeString(dense.sizes()),
                  " for ", rows, " lengths");
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
