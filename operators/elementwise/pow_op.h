// Pow: with an exponent that is an argument, or one for each element.
#pragma once

#include <memory>

#include "operators/common/portable_op.h"
#include "operators/elementwise/elementwise_ops.h"
#include "operators/elementwise/unary_functions.h"

namespace caffe2 {

// The kernel of UnaryElementwiseOp for the argument `exponent`.
class PowKernel {
 public:
  explicit PowKernel(const OperatorBase& op) {
    CAFFE_ENFORCE(op.HasArgument("exponent"), "the exponent is neither an argument nor an input");
    pow_.exponent = op.GetSingleArgument<float>("exponent", 0.f);
  }
  template <typename T, class Context>
  void operator()(int64_t n, const T* x, T* y, Context* context) const {
    MapElements(pow_, n, context, y, x);
  }

 private:
  PowValue pow_;
};

// `OfInput`: the operator of an exponent that is the second input.
template <class Context, class OfInput>
std::unique_ptr<OperatorBase> MakePow(const OperatorDef& def, Workspace* ws) {
  if (def.input_size() == 1) {
    return std::make_unique<UnaryElementwiseOp<FloatTypes, Context, PowKernel>>(def, ws);
  }
  return std::make_unique<OfInput>(def, ws);
}

}  // namespace caffe2
