// Reshape: the same elements in another shape.
#pragma once

#include "operators/common/copy_elements.h"
#include "operators/common/shape_input.h"

namespace caffe2 {

// Resolves `wanted`: 0 keeps the old dimension at that place (is 0 if there are no elements), and
// at most one -1 is computed from the number of elements. Throws EnforceNotMet, naming both shapes,
// if the numbers of elements differ.
std::vector<int64_t> ResolveShape(const std::vector<int64_t>& old_shape,
                                  const std::vector<int64_t>& wanted);

// Output 0: input 0 in the shape of the argument `shape` or of input 1. Output 1: the old shape.
template <class Context>
class ReshapeOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  ReshapeOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), shape_(this->template GetRepeatedArgument<int64_t>("shape")) {
    CAFFE_ENFORCE(InputSize() == 2 || HasArgument("shape"),
                  "there is neither an argument shape nor an input 1 for the new shape");
  }

  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const std::vector<int64_t> old_shape = X.sizes();
    const std::vector<int64_t> shape = ResolveShape(
        old_shape,
        InputSize() == 2 ? ReadDimensions(this->template Input<Tensor>(1), "new_shape") : shape_);
    // Written before output 0, which may be the blob of the input.
    Tensor* old = this->OutputCPU(1);
    old->Resize(static_cast<int64_t>(old_shape.size()));
    std::copy(old_shape.begin(), old_shape.end(), old->template mutable_data<int64_t>());
    Tensor* Y = Output(0);
    Y->Resize(shape);
    CopyElements(X, Y, &context_);
    return true;
  }

 private:
  std::vector<int64_t> shape_;
};

}  // namespace caffe2
