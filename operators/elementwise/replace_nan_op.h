// ReplaceNaN.
#pragma once

#include "operators/common/element_type.h"
#include "operators/common/portable_op.h"
#include "operators/elementwise/unary_functions.h"

namespace caffe2 {

template <class Context>
class ReplaceNaNOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  ReplaceNaNOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        replace_{this->template GetSingleArgument<float>("value", 0.f)} {}
  bool RunOnDevice() override { return FloatTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const T* x = Input(0).template data<T>();
    Output(0)->ResizeLike(Input(0));
    MapElements(replace_, Input(0).numel(), &context_, Output(0)->template mutable_data<T>(), x);
    return true;
  }

 private:
  ReplaceNaNValue replace_;
};

}  // namespace caffe2
