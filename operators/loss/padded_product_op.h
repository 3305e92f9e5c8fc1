// DotProductWithPadding: X [N, ...], Y [N, ...] -> Z [N], the dot products of pairs of rows. The
// shorter rows are padded or repeated. host_device_op.h or host_device_cuda.h runs the functors.
#pragma once

#include <algorithm>

#include "caffe2/core/operator.h"
#include "operators/loss/padded_product_functions.h"

namespace caffe2 {

// Shared by the operator and its gradient: the arguments and the check of the shapes.
template <class Context>
class PaddedProductBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  PaddedProductBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        pad_(this->template GetSingleArgument<float>("pad_value", 0.f)),
        replicate_(this->template GetSingleArgument<bool>("replicate", false)) {}

 protected:
  // How the elements of rows of X and Y pair up, and whether the rows of X are longer. Throws
  // EnforceNotMet for shapes that do not fit.
  PaddedPairs CheckSizes(const Tensor& X, const Tensor& Y, bool* x_longer) const {
    CAFFE_ENFORCE(X.dim() == Y.dim() && X.dim() >= 1 && X.size(0) == Y.size(0),
                  "X and Y must have the same number of rows: X has shape ", ShapeString(X.sizes()),
                  ", Y ", ShapeString(Y.sizes()));
    const int64_t dx = X.size_from_dim(1), dy = Y.size_from_dim(1);
    const PaddedPairs pairs{std::max(dx, dy), std::min(dx, dy), pad_, replicate_};
    CAFFE_ENFORCE(!replicate_ || (pairs.shorter > 0 && pairs.longer % pairs.shorter == 0),
                  "rows of ", pairs.shorter, " do not repeat to rows of ", pairs.longer);
    *x_longer = dx >= dy;
    return pairs;
  }

 private:
  float pad_;
  bool replicate_;
};

template <class Context>
class DotProductWithPaddingOp final : public PaddedProductBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using PaddedProductBase<Context>::PaddedProductBase;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &Y = Input(1);
    bool x_longer = false;
    const PaddedPairs pairs = this->CheckSizes(X, Y, &x_longer);
    const float *longer = (x_longer ? X : Y).template data<float>(),
                *shorter = (x_longer ? Y : X).template data<float>();
    Output(0)->Resize(X.size(0));
    ForEachRow(X.size(0), pairs.longer,
               PaddedProductRows{pairs, longer, shorter, Output(0)->template mutable_data<float>()},
               &context_);
    return true;
  }
};

template <class Context>
class DotProductWithPaddingGradientOp final : public PaddedProductBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using PaddedProductBase<Context>::PaddedProductBase;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &Y = Input(1), &dZ = Input(2);
    bool x_longer = false;
    const PaddedPairs pairs = this->CheckSizes(X, Y, &x_longer);
    CAFFE_ENFORCE(dZ.numel() == X.size(0),
                  "dZ must have one element for each row of X: dZ has shape ",
                  ShapeString(dZ.sizes()), ", X ", ShapeString(X.sizes()));
    const float *longer = (x_longer ? X : Y).template data<float>(),
                *shorter = (x_longer ? Y : X).template data<float>(), *dz = dZ.data<float>();
    Output(0)->ResizeLike(X);
    Output(1)->ResizeLike(Y);
    ForEachRow(X.size(0), pairs.longer,
               PaddedProductGradientRows{pairs, longer, shorter, dz,
                                         Output(x_longer ? 0 : 1)->template mutable_data<float>(),
                                         Output(x_longer ? 1 : 0)->template mutable_data<float>()},
               &context_);
    return true;
  }
};

}  // namespace caffe2
