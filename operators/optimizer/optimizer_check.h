// Checks for optimizer operators.
#pragma once

#include "caffe2/core/operator.h"
#include "operators/common/rate_input.h"

namespace caffe2 {

// Throws EnforceNotMet naming both shapes unless `state` has as many elements as the parameter.
inline void CheckOptimizerState(const Tensor& param, const Tensor& state, const char* name) {
  CAFFE_ENFORCE_EQ(state.numel(), param.numel(), name, " ", ShapeString(state.sizes()),
                   " for parameter ", ShapeString(param.sizes()));
}

// The same for a state of one number for each row of the parameter.
inline void CheckRowWiseState(const Tensor& param, const Tensor& state, const char* name) {
  CAFFE_ENFORCE(param.dim() >= 1 && state.numel() == param.size(0), name, " ",
                ShapeString(state.sizes()), " for the rows of parameter ",
                ShapeString(param.sizes()));
}

// The elements of a tensor that an operator updates in place, as its schema demands. Throws
// EnforceNotMet unless it holds T: mutable_data would turn it into one with arbitrary elements.
template <typename T>
T* UpdatedData(Tensor* tensor) {
  tensor->data<T>();
  return tensor->mutable_data<T>();
}

// The number of elements of a row. Throws EnforceNotMet unless the parameter has rows, the indices
// are int32 or int64, and the gradient has one row for each. Does not check the values of the
// indices.
inline int64_t CheckRowGradient(const Tensor& param, const Tensor& indices, const Tensor& grad) {
  CAFFE_ENFORCE_GE(param.dim(), 1, "the parameter must have rows");
  CAFFE_ENFORCE(indices.IsType<int32_t>() || indices.IsType<int64_t>(),
                "indices must be int32 or int64, not ", indices.dtype().name());
  const int64_t width = param.size_from_dim(1);
  CAFFE_ENFORCE_EQ(grad.numel(), indices.numel() * width, "gradient ", ShapeString(grad.sizes()),
                   " for ", indices.numel(), " rows of parameter ", ShapeString(param.sizes()));
  return width;
}

// The optional input i of an update, found_inf of CheckFiniteAndUnscale; null if there is none.
template <class Context>
const float* FoundInf(const Operator<Context>* op, int i) {
  if (op->InputSize() <= i) return nullptr;
  CAFFE_ENFORCE_EQ(op->Input(i).numel(), 1, "found_inf must be a scalar");
  return op->Input(i).template data<float>();
}
inline constexpr const char* kFoundInfDoc =
    "Optional float scalar (CheckFiniteAndUnscale): if it is not 0, nothing is updated, and the "
    "step is 0.";

}  // namespace caffe2
