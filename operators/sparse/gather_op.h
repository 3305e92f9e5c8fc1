// Gather, BatchGather, SparseToDense, ScatterWeightedSum: operators on rows that are named by
// index.
#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "caffe2/core/device_backend.h"
#include "operators/common/copy_elements.h"
#include "operators/common/element_type.h"
#include "operators/common/update_rows.h"
#include "operators/optimizer/optimizer_check.h"
#include "operators/sparse/row_functions.h"

namespace caffe2 {

// The axis along which rows are gathered, and whether the indices also have the axes before it, so
// that each element of the batch has indices of its own.
struct GatherAxis {
  GatherAxis(const ArgumentHelper& arguments, int default_axis)
      : axis(arguments.GetSingleArgument<int>("axis", default_axis)),
        match_outer(arguments.GetSingleArgument<bool>("match_outer", false)) {}

  // The shape of data with the axis replaced by the axes of the indices. Throws EnforceNotMet if
  // the shapes do not match.
  std::vector<int64_t> Shape(const std::vector<int64_t>& data,
                             const std::vector<int64_t>& indices) const;

  int axis;
  bool match_outer;
};

// A tensor seen as [outer, rows, width]. Indices, int32 or int64, name rows. The functions below
// throw EnforceNotMet for an index out of range; on a device it is reported (checked_indices.h).
struct RowLayout {
  int64_t outer = 1, rows = 0, width = 0;
  bool match_outer = false;  // the indices are [outer, n]; else all matrices share n indices

  static RowLayout Along(const GatherAxis& axis, const Tensor& data) {
    return {data.size_to_dim(axis.axis), data.size(axis.axis), data.size_from_dim(axis.axis + 1),
            axis.match_outer};
  }
};
// y[o, i] = x[o, indices[i]], elements of any type.
template <class Context>
void GatherRows(const Tensor& indices, const RowLayout& layout, TypeMeta meta, const void* x,
                void* y, Context* context);
// y[o, row] = the sum of x[o, i] over the indices i that name the row, in order. y must be 0
// already. The last argument chooses the overload for the device.
template <typename T>
void SumRows(const Tensor& indices, const RowLayout& layout, const T* x, T* y, CPUContext* context);
// default_axis: 0 for Gather, 1 for BatchGather.
template <class Context, int default_axis>
class GatherOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  GatherOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), axis_(ArgumentHelper(this->debug_def()), default_axis) {}

  bool RunOnDevice() override {
    const Tensor &data = Input(0), &indices = Input(1);
    CAFFE_ENFORCE(data.has_data(), "data of shape ", ShapeString(data.sizes()),
                  " holds no elements");
    Tensor* Y = Output(0);
    Y->Resize(axis_.Shape(data.sizes(), indices.sizes()));
    const TypeMeta meta = data.dtype();
    GatherRows(indices, RowLayout::Along(axis_, data), meta, data.raw_data(),
               Y->raw_mutable_data(meta), &context_);
    return true;
  }

 private:
  GatherAxis axis_;
};

// Inputs data, indices, dY: each row of dY is added to the row of d_data it came from.
template <class Context>
class BatchGatherGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  BatchGatherGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), axis_(ArgumentHelper(this->debug_def()), 1) {}

  bool RunOnDevice() override {
    const Tensor &data = Input(0), &indices = Input(1), &dY = Input(2);
    CAFFE_ENFORCE(dY.sizes() == axis_.Shape(data.sizes(), indices.sizes()),
                  "dY must have the shape of the output, ",
                  ShapeString(axis_.Shape(data.sizes(), indices.sizes())), "; found ",
                  ShapeString(dY.sizes()));
    const float* dy = dY.data<float>();
    Tensor* dX = Output(0);
    dX->ResizeLike(data);
    float* dx = dX->template mutable_data<float>();
    ClearBytes(dX->nbytes(), dx, &context_);
    SumRows(indices, RowLayout::Along(axis_, data), dy, dx, &context_);
    return true;
  }

 private:
  GatherAxis axis_;
};

template <class Context>
class SparseToDenseOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SparseToDenseOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        rows_(this->template GetSingleArgument<int64_t>("output_first_dim", 0)) {
    CAFFE_ENFORCE(rows_ >= 0, "argument output_first_dim must not be negative, found ", rows_);
  }

  bool RunOnDevice() override {
    return TensorTypes<float, double, int32_t, int64_t>::Dispatch(this, Input(1).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &indices = Input(0), &values = Input(1);
    CAFFE_ENFORCE(indices.dim() == 1 && values.dim() >= 1 && values.size(0) == indices.numel(),
                  "there must be one row of values for each index: indices ",
                  ShapeString(indices.sizes()), ", values ", ShapeString(values.sizes()));
    const T* value = values.data<T>();
    std::vector<int64_t> dims = values.sizes();
    dims[0] = NumRows(indices);
    Tensor* Y = Output(0);
    Y->Resize(dims);
    T* y = Y->template mutable_data<T>();
    ClearBytes(Y->nbytes(), y, &context_);
    SumRows(indices, {1, dims[0], values.size_from_dim(1)}, value, y, &context_);
    return true;
  }

 private:
  // Given by the argument, by input 2, or by the largest index.
  int64_t NumRows(const Tensor& indices) const {
    if (InputSize() == 3) {
      CAFFE_ENFORCE(Input(2).dim() >= 1,
                    "data_to_infer_dim must have at least one axis, found a scalar");
      CAFFE_ENFORCE(rows_ == 0 || rows_ == Input(2).size(0), "argument output_first_dim (", rows_,
                    ") must be the number of rows of data_to_infer_dim (", Input(2).size(0), ")");
      return Input(2).size(0);
    }
    if (rows_ > 0) return rows_;
    Tensor copy(CPU);
    int64_t rows = 0;
    for (const int64_t row : ReadIntegers(OnHost(indices, &copy), "indices")) {
      rows = std::max(rows, row + 1);
    }
    return rows;
  }

  int64_t rows_;
};

// X_0, weight_0, indices, X_1, weight_1, ... -> X_0
template <class Context>
class ScatterWeightedSumOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(ScatterWeightedSumOp);
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &indices = Input(2);
    CAFFE_ENFORCE(X.dim() >= 1, "X_0 must have at least one axis, found a scalar");
    const int64_t rows = X.size(0), n = indices.numel(), width = X.size_from_dim(1);
    for (int k = 3; k < InputSize(); k += 2) {
      CAFFE_ENFORCE(Input(k).numel() == n * width, "input ", k, " must hold ", n, " rows of ",
                    width, " elements, found shape ", ShapeString(Input(k).sizes()));
    }
    float* x = UpdatedData<float>(Output(0));
    UpdateRows(indices, rows, ScaleRow{width, Weight(1), x}, &context_);
    for (int k = 3; k < InputSize(); k += 2) {
      const float* u = Input(k).template data<float>();
      UpdateRows(indices, rows, AddWeightedRow{width, Weight(k + 1), u, x}, &context_);
    }
    return true;
  }

 private:
  Rate Weight(int i) { return RateFor(this->template Input<Tensor>(i), "a weight", &context_); }
};

}  // namespace caffe2
