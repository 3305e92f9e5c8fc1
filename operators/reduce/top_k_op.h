// TopK: X -> values, indices (int64), [flattened_indices (int64)], the k largest elements along an
// axis in descending order. The gradient: d_values, indices, X -> dX.
#pragma once

#include <vector>

#include "operators/common/element_type.h"
#include "operators/reduce/selection_functions.h"

namespace caffe2 {

// Shared by the forward and the gradient operator: their arguments.
template <class Context>
class TopKBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  TopKBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        k_(this->template GetSingleArgument<int>("k", -1)),
        axis_(this->template GetSingleArgument<int>("axis", -1)) {
    CAFFE_ENFORCE(k_ >= 1, "argument k must be positive, found ", k_);
  }

 protected:
  int k_, axis_;
};

// The outputs of TopK: k for each line.
template <typename T>
struct TopKOutputs {
  LineLayout layout;
  int64_t lines = 0;
  T* values = nullptr;
  int64_t* indices = nullptr;
  int64_t* flat = nullptr;  // may be null
};

template <class Context>
class TopKOp final : public TopKBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using TopKBase<Context>::TopKBase;
  bool RunOnDevice() override { return NumericTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType();

 private:
  template <typename T>
  TopKOutputs<T> PrepareOutputs(const Tensor& x) {
    const int axis = x.canonical_axis_index(this->axis_);
    TopKOutputs<T> out;
    out.layout = {x.size(axis), x.size_from_dim(axis + 1)};
    out.lines = x.size_to_dim(axis) * out.layout.inner;
    std::vector<int64_t> dims = x.sizes();
    dims[axis] = this->k_;
    Output(0)->Resize(dims);
    Output(1)->Resize(dims);
    out.values = Output(0)->template mutable_data<T>();
    out.indices = Output(1)->template mutable_data<int64_t>();
    if (OutputSize() > 2) {
      Output(2)->Resize(Output(0)->numel());
      out.flat = Output(2)->template mutable_data<int64_t>();
    }
    return out;
  }
};

template <class Context>
class TopKGradientOp final : public TopKBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using TopKBase<Context>::TopKBase;
  bool RunOnDevice() override { return NumericTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType();

 private:
  // The lines of X, input 2. Throws unless the gradient and the indices hold k for each line.
  LineLayout CheckInputs() const {
    const Tensor &d_values = Input(0), &indices = Input(1), &x = Input(2);
    const int axis = x.canonical_axis_index(this->axis_);
    const LineLayout layout{x.size(axis), x.size_from_dim(axis + 1)};
    CAFFE_ENFORCE(d_values.numel() == x.size_to_dim(axis) * this->k_ * layout.inner &&
                      indices.numel() == d_values.numel(),
                  "the gradient and the indices must fit X of shape ", ShapeString(x.sizes()),
                  " and k ", this->k_, ": the gradient has shape ", ShapeString(d_values.sizes()),
                  ", the indices ", ShapeString(indices.sizes()));
    return layout;
  }
};

}  // namespace caffe2
