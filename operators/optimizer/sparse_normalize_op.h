// SparseNormalize, Float16SparseNormalize: bound or set the L2 norm of the rows of a parameter that
// indices name, in place.
#pragma once

#include "operators/common/update_rows.h"
#include "operators/optimizer/optimizer_check.h"
#include "operators/optimizer/parameter_row_functions.h"

namespace caffe2 {

template <class Context, typename T>
class SparseNormalizeOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SparseNormalizeOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        only_above_(this->template GetSingleArgument<bool>("use_max_norm", true)),
        norm_(this->template GetSingleArgument<float>("norm", 1.f)) {
    CAFFE_ENFORCE(norm_ >= 0, "argument norm must not be negative, found ", norm_);
  }

  bool RunOnDevice() override {
    const Tensor& param = Input(0);
    CAFFE_ENFORCE(param.dim() >= 1, "the parameter must have at least one axis, found a scalar");
    UpdateRows(
        Input(1), param.size(0),
        NormalizeRow<T>{param.size_from_dim(1), only_above_, norm_, UpdatedData<T>(Output(0))},
        &context_);
    return true;
  }

 private:
  bool only_above_;
  float norm_;
};

}  // namespace caffe2
