// Shape, Size, HasElements, IsEmpty, which do not read the elements of their inputs; and Free.
// Inputs may be on any device; outputs are in host memory.
#pragma once

#include "caffe2/core/operator.h"

namespace caffe2 {

// The sizes of the dimensions in `axes`, or of all if `axes` is empty.
inline std::vector<int64_t> ChosenDims(const std::vector<int64_t>& dims,
                                       const std::vector<int>& axes) {
  if (axes.empty()) return dims;
  std::vector<int64_t> chosen;
  for (const int axis : axes) {
    CAFFE_ENFORCE(axis >= 0 && axis < static_cast<int>(dims.size()), "axis ", axis,
                  " is out of range for shape ", ShapeString(dims));
    chosen.push_back(dims[axis]);
  }
  return chosen;
}

template <class Context>
class ShapeOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  ShapeOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), axes_(this->template GetRepeatedArgument<int>("axes")) {}
  bool RunOnDevice() override {
    const std::vector<int64_t> dims = ChosenDims(this->template Input<Tensor>(0).sizes(), axes_);
    Tensor* Y = this->OutputCPU(0);
    Y->Resize(static_cast<int64_t>(dims.size()));
    std::copy(dims.begin(), dims.end(), Y->template mutable_data<int64_t>());
    return true;
  }

 private:
  std::vector<int> axes_;
};

// The output is a scalar, F::Value of the number of elements.
template <class Context, class F>
class SizeOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(SizeOp);
  bool RunOnDevice() override {
    const auto value = F::Value(this->template Input<Tensor>(0).numel());
    Tensor* Y = this->OutputCPU(0);
    Y->Resize();
    *Y->template mutable_data<std::remove_const_t<decltype(value)>>() = value;
    return true;
  }
};
struct SizeFunctor {
  static int64_t Value(int64_t size) { return size; }
};
struct IsEmptyFunctor {
  static bool Value(int64_t size) { return size == 0; }
};

// Whether any of the inputs has elements.
template <class Context>
class HasElementsOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(HasElementsOp);
  bool RunOnDevice() override {
    bool any = false;
    for (int i = 0; i < InputSize(); ++i) {
      any = any || this->template Input<Tensor>(i).numel() > 0;
    }
    Tensor* Y = this->OutputCPU(0);
    Y->Resize();
    *Y->template mutable_data<bool>() = any;
    return true;
  }
};

}  // namespace caffe2
