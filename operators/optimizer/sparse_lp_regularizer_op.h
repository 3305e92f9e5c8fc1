// SparseLpRegularizer and EnsureClipped: elements of a parameter, or of some of its rows, that
// shrink or are limited. portable_op.h or portable_cuda.h runs the functors, and UpdateRows is the
// device's (gather_op.h).
#pragma once

#include <limits>

#include "operators/optimizer/optimizer_check.h"
#include "operators/optimizer/row_rule_functions.h"
#include "operators/sparse/gather_op.h"

namespace caffe2 {

template <class Context>
class SparseLpRegularizerOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SparseLpRegularizerOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        p_(this->template GetSingleArgument<float>("p", 2)),
        lambda_(this->template GetSingleArgument<float>("reg_lambda", 1e-5f)) {
    CAFFE_ENFORCE(p_ == 1 || p_ == 2, "the argument p is ", p_, ", and must be 1 or 2");
    CAFFE_ENFORCE(lambda_ >= 0 && lambda_ < 1, "the argument reg_lambda is ", lambda_,
                  ", and must be in [0, 1)");
  }
  bool RunOnDevice() override {
    const Tensor& param = Input(0);
    CAFFE_ENFORCE_GE(param.dim(), 1, "the parameter must have rows");
    UpdateRows(Input(1), param.size(0),
               ShrinkRow{param.size_from_dim(1), p_ == 2, lambda_, UpdatedData<float>(Output(0))},
               &context_);
    return true;
  }

 private:
  float p_, lambda_;
};

template <class Context>
class EnsureClippedOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  EnsureClippedOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        limit_{this->template GetSingleArgument<float>("min", std::numeric_limits<float>::lowest()),
               this->template GetSingleArgument<float>("max", std::numeric_limits<float>::max())} {
    CAFFE_ENFORCE_LE(limit_.low, limit_.high, "the arguments min and max leave nothing");
  }
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    Tensor* Y = Output(0);
    if (InputSize() == 1) {
      const float* x = X.data<float>();
      Y->ResizeLike(X);
      MapElements(limit_, X.numel(), &context_, Y->template mutable_data<float>(), x);
      return true;
    }
    CAFFE_ENFORCE(Y == &X, "rows are clipped in place");
    CAFFE_ENFORCE_GE(X.dim(), 1, "the parameter must have rows");
    UpdateRows(Input(1), X.size(0),
               LimitRow{X.size_from_dim(1), limit_, Y->template mutable_data<float>()}, &context_);
    return true;
  }

 private:
  const LimitValue limit_;
};

}  // namespace caffe2
