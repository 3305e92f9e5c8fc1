// SparseLpRegularizer: shrinks the rows of a float parameter that indices name, in place. param,
// indices, [grad] -> param; grad is not read.
#pragma once

#include "operators/common/update_rows.h"
#include "operators/optimizer/optimizer_check.h"
#include "operators/optimizer/parameter_row_functions.h"

namespace caffe2 {

template <class Context>
class SparseLpRegularizerOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SparseLpRegularizerOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        p_(this->template GetSingleArgument<float>("p", 2)),
        lambda_(this->template GetSingleArgument<float>("reg_lambda", 1e-5f)) {
    CAFFE_ENFORCE(p_ == 1 || p_ == 2, "argument p must be 1 or 2, found ", p_);
    CAFFE_ENFORCE(lambda_ >= 0 && lambda_ < 1,
                  "argument reg_lambda must be at least 0 and less than 1, found ", lambda_);
  }
  bool RunOnDevice() override {
    const Tensor& param = Input(0);
    CAFFE_ENFORCE(param.dim() >= 1, "the parameter must have at least one axis, found a scalar");
    UpdateRows(Input(1), param.size(0),
               ShrinkRow{param.size_from_dim(1), p_ == 2, lambda_, UpdatedData<float>(Output(0))},
               &context_);
    return true;
  }

 private:
  float p_, lambda_;
};

}  // namespace caffe2
