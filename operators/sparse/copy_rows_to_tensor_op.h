// CopyRowsToTensor: sets some rows of a matrix to one row. host_device_op.h or host_device_cuda.h
// runs the functors.
#pragma once

#include "operators/common/copy_elements.h"
#include "operators/common/element_type.h"
#include "operators/sparse/row_functions.h"

namespace caffe2 {

// y[row] = x, elements of any type, for each of the indices, which are checked (checked_indices.h).
// The last argument chooses the overload for the device.
void AssignToRows(const Tensor& indices, int64_t rows, TypeMeta meta, int64_t width, const void* x,
                  void* y, CPUContext* context);
// The checked indices in order, in `storage`.
SortedRows SortIndices(const Tensor& indices, int64_t rows, Tensor* storage, CPUContext* context);

// Inputs input_tensor, indices, row.
template <class Context>
class CopyRowsToTensorOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(CopyRowsToTensorOp);
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &row = Input(2);
    CAFFE_ENFORCE(X.dim() == 2 && X.has_data(), "input_tensor must be a matrix, found ",
                  X.DebugString());
    CAFFE_ENFORCE(row.dim() == 1 && row.numel() == X.size(1) && row.dtype() == X.dtype(),
                  "width of input tensor should match lengths of row: ", X.DebugString(), " and ",
                  row.DebugString());
    const TypeMeta meta = X.dtype();
    CopyTensor(X, Output(0), &context_);
    AssignToRows(Input(1), X.size(0), meta, row.numel(), row.raw_data(),
                 Output(0)->raw_mutable_data(meta), &context_);
    return true;
  }
};

// Inputs indices, dY: dX = dY, with 0 in the overwritten rows. The gradient of the row is the sum
// of dY's overwritten rows.
template <class Context>
class CopyRowsToTensorGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(CopyRowsToTensorGradientOp);
  bool RunOnDevice() override { return FloatTypes::Dispatch(this, Input(1).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &indices = Input(0), &dY = Input(1);
    CAFFE_ENFORCE(dY.dim() == 2, "the gradient must be a matrix, found shape ",
                  ShapeString(dY.sizes()));
    const int64_t rows = dY.size(0), width = dY.size(1);
    CopyTensor(dY, Output(0), &context_);
    Output(1)->Resize(width);
    Tensor storage(context_.device());
    const SortedRows sorted = SortIndices(indices, rows, &storage, &context_);
    ForEachRow(width, sorted.n,
               TakeRows<T>{sorted, width, Output(0)->template mutable_data<T>(),
                           Output(1)->template mutable_data<T>()},
               &context_);
    return true;
  }
};

}  // namespace caffe2
