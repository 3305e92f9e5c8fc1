// Sum: the sum of tensors of the same shape and type, added in the order of the inputs. Y may
// overwrite input 0.
#pragma once

#include <vector>

#include "operators/common/copy_elements.h"
#include "operators/common/element_type.h"

namespace caffe2 {

template <class Context>
class SumOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(SumOp);

  bool RunOnDevice() override {
    const Tensor& first = Input(0);
    for (int i = 1; i < InputSize(); ++i) {
      CAFFE_ENFORCE(Input(i).sizes() == first.sizes(),
                    "all inputs must have the same shape: input 0 has shape ",
                    ShapeString(first.sizes()), ", input ", i, " ", ShapeString(Input(i).sizes()));
    }
    if (InputSize() == 1) {
      CopyTensor(first, Output(0), &context_);
      return true;
    }
    return NumericTypes::Dispatch(this, first.dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    inputs_.clear();
    for (int i = 0; i < InputSize(); ++i) inputs_.push_back(Input(i).template data<T>());
    Tensor* Y = Output(0);
    Y->ResizeLike(Input(0));
    Add(Y->numel(), Y->template mutable_data<T>());
    return true;
  }

 private:
  // y = the sum of the n elements of all inputs, at least two, in float for 16-bit types. y may be
  // the first input.
  template <typename T>
  void Add(int64_t n, T* y);

  std::vector<const void*> inputs_;
};

}  // namespace caffe2
