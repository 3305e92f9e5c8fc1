// Checks for optimizer operators.
#pragma once

#include "caffe2/core/operator.h"
#include "operators/common/rate_input.h"

namespace caffe2 {

// Throws EnforceNotMet naming both shapes unless `state` has as many elements as the parameter.
inline void CheckOptimizerState(const Tensor& param, const Tensor& state, const char* name) {
  CAFFE_ENFORCE(state.numel() == param.numel(), name,
                " must have as many elements as the parameter: ", name, " has shape ",
                ShapeString(state.sizes()), ", the parameter ", ShapeString(param.sizes()));
}

// Throws EnforceNotMet unless `state` has one number for each row of the parameter.
inline void CheckRowWiseState(const Tensor& param, const Tensor& state, const char* name) {
  CAFFE_ENFORCE(param.dim() >= 1 && state.numel() == param.size(0), name,
                " must have one element for each row of the parameter: ", name, " has shape ",
                ShapeString(state.sizes()), ", the parameter ", ShapeString(param.sizes()));
}

// The elements of a tensor that an operator updates in place, as its schema demands. Throws
// EnforceNotMet unless the tensor holds T: mutable_data would replace its elements by arbitrary
// ones.
template <typename T>
T* UpdatedData(Tensor* tensor) {
  tensor->data<T>();
  return tensor->mutable_data<T>();
}

// The number of elements of a row. Throws EnforceNotMet unless the parameter has rows, the indices
// are int32 or int64, and the gradient has one row for each. Does not check the values of the
// indices.
inline int64_t CheckRowGradient(const Tensor& param, const Tensor& indices, const Tensor& grad) {
  CAFFE_ENFORCE(param.dim() >= 1, "the parameter must have at least one axis, found a scalar");
  CAFFE_ENFORCE(indices.IsType<int32_t>() || indices.IsType<int64_t>(),
                "indices must be int32 or int64, not ", indices.dtype().name());
  const int64_t width = param.size_from_dim(1);
  CAFFE_ENFORCE(grad.numel() == indices.numel() * width,
                "the gradient must have one row for each of the ", indices.numel(),
                " indices: it has shape ", ShapeString(grad.sizes()), ", the parameter ",
                ShapeString(param.sizes()));
  return width;
}

// The data of the optional input i of an update: found_inf of CheckFiniteAndUnscale. Null if there
// is none.
template <class Context>
const float* FoundInf(const Operator<Context>* op, int i) {
  if (op->InputSize() <= i) return nullptr;
  CAFFE_ENFORCE(op->Input(i).numel() == 1, "found_inf must have one element, found ",
                op->Input(i).numel());
  return op->Input(i).template data<float>();
}
inline constexpr const char* kFoundInfDoc =
    "Optional float scalar (CheckFiniteAndUnscale): if it is not 0, nothing is updated, and the "
    "step is 0.";

}  // namespace caffe2
