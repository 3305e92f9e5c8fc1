// Checks that optimizer operators share.
#pragma once

#include "operators/indices.h"

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

// An update of some rows of a parameter, in the order of `rows` (a row may come twice).
struct RowUpdate {
  std::vector<int64_t> rows;
  int64_t width = 0;  // elements of a row

  int64_t size() const { return static_cast<int64_t>(rows.size()); }
};

// Throws EnforceNotMet unless the indices are rows of the parameter and the gradient has one row
// for each of them.
inline RowUpdate CheckRowUpdate(const Tensor& param, const Tensor& indices, const Tensor& grad) {
  CAFFE_ENFORCE_GE(param.dim(), 1, "the parameter must have rows");
  RowUpdate update{ReadIndices(indices, param.size(0)), param.size_from_dim(1)};
  CAFFE_ENFORCE_EQ(grad.numel(), update.size() * update.width, "gradient ",
                   ShapeString(grad.sizes()), " for ", update.size(), " rows of parameter ",
                   ShapeString(param.sizes()));
  return update;
}

// The learning rate, a float tensor of one element.
inline const float* CheckLearningRate(const Tensor& lr) {
  CAFFE_ENFORCE_EQ(lr.numel(), 1, "the learning rate must be a scalar");
  return lr.data<float>();
}

// Elements a thread updates at least.
constexpr int64_t kOptimizerGrain = 1 << 14;

}  // namespace caffe2
