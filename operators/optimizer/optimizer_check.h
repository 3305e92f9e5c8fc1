// Checks that optimizer operators share.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "caffe2/core/operator.h"
#include "operators/common/indices.h"
#include "operators/optimizer/optimizer_functions.h"

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

// CheckRowWiseState if kRowWise, else CheckOptimizerState.
template <bool kRowWise>
void CheckStateOfRows(const Tensor& param, const Tensor& state, const char* name) {
  if constexpr (kRowWise) {
    CheckRowWiseState(param, state, name);
  } else {
    CheckOptimizerState(param, state, name);
  }
}

// The elements of a tensor that an operator updates in place, as its schema demands. Throws unless
// it holds T: mutable_data would make it one, with whatever its bytes then stand for.
template <typename T>
T* UpdatedData(Tensor* tensor) {
  tensor->data<T>();
  return tensor->mutable_data<T>();
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

// The same for functors (optimizer_functions.h); optimizer_cuda.h has it for devices.
inline Rate RateFor(const Tensor& scalar, const char* what, CPUContext* /*context*/) {
  CAFFE_ENFORCE_EQ(scalar.numel(), 1, what, " must be a scalar, of one element");
  return {scalar.data<float>()};
}

// The optional input i of an update, found_inf of CheckFiniteAndUnscale; null if there is none.
template <class Context>
const float* FoundInf(const Operator<Context>* op, int i) {
  if (op->InputSize() <= i) return nullptr;
  CAFFE_ENFORCE_EQ(op->Input(i).numel(), 1, "found_inf must be a scalar");
  return op->Input(i).template data<float>();
}
// Whether it says that an update on the host is to be skipped.
inline bool IsSet(const float* found_inf) { return found_inf != nullptr && *found_inf != 0; }
// What an update on the host that is skipped does: copies state to where its outputs are (which may
// be the same memory), and sets the step, if it is an output, to zero.
inline void KeepState(const std::vector<std::pair<const Tensor*, float*>>& state, float* step) {
  for (const auto& [from, to] : state) {
    if (from->raw_data() != to) std::copy_n(from->data<float>(), from->numel(), to);
  }
  if (step != nullptr) std::fill_n(step, state.front().first->numel(), 0.f);
}
inline constexpr const char* kFoundInfDoc =
    "Optional float scalar (CheckFiniteAndUnscale): if it is not 0, nothing is updated, and the "
    "step is 0.";

// Elements a thread updates at least.
constexpr int64_t kOptimizerGrain = 1 << 14;

}  // namespace caffe2
