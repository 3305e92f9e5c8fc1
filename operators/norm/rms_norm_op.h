// RMSNorm (Zhang and Sennrich, 2019): divides rows by their root mean square, then scales and
// shifts them. X, gamma, beta -> Y, rrms, the reciprocal root mean square of each row.
#pragma once

#include "operators/common/element_type.h"
#include "operators/common/host_device_op.h"
#include "operators/norm/rms_norm_functions.h"

namespace caffe2 {

// The rows of X: axes before the argument `axis` index the rows, the other axes their elements.
template <class Context>
class RmsNormBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  RmsNormBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), axis_(this->template GetSingleArgument<int>("axis", 1)) {}

 protected:
  struct Rows {
    int axis = 1;
    int64_t count = 0, size = 0;
  };
  // Throws unless gamma is as large as a row.
  Rows RowsOf(const Tensor& x, const Tensor& gamma) const {
    Rows rows;
    rows.axis = x.canonical_axis_index(axis_);
    rows.count = x.size_to_dim(rows.axis);
    rows.size = x.size_from_dim(rows.axis);
    CAFFE_ENFORCE(gamma.numel() == rows.size, "gamma and beta must have ", rows.size,
                  " elements, as many as X from axis ", axis_, " on: gamma has shape ",
                  ShapeString(gamma.sizes()), ", X ", ShapeString(x.sizes()));
    return rows;
  }

 private:
  int axis_;
};

template <class Context>
class RmsNormOp final : public RmsNormBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  RmsNormOp(const OperatorDef& def, Workspace* ws)
      : RmsNormBase<Context>(def, ws), eps_(this->template GetSingleArgument<float>("eps", 0.f)) {
    CAFFE_ENFORCE(eps_ >= 0, "argument eps must not be negative, found ", eps_);
  }
  bool RunOnDevice() override { return FloatTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &X = Input(0), &gamma = Input(1), &beta = Input(2);
    const auto rows = this->RowsOf(X, gamma);
    CAFFE_ENFORCE(beta.numel() == rows.size, "beta must have ", rows.size,
                  " elements, as many as X from the argument axis on; found ", beta.numel());
    RmsNormRows<T> normalize{rows.size,      eps_,    X.data<T>(), gamma.data<T>(),
                             beta.data<T>(), nullptr, nullptr};
    Output(0)->ResizeLike(X);
    Output(1)->Resize(std::vector<int64_t>(X.sizes().begin(), X.sizes().begin() + rows.axis));
    normalize.y = Output(0)->template mutable_data<T>();
    normalize.rrms = Output(1)->template mutable_data<ArithmeticType<T>>();
    ForEachRow(rows.count, rows.size, normalize, &context_);
    return true;
  }

 private:
  float eps_;
};

// With r = rrms of the row:
//   dx = r gamma dy - r^3 x mean(gamma dy x),  dgamma = sum dy x r,  dbeta = sum dy
// An overload of RmsNormParameterGradients, chosen by its last argument, computes the last two.
template <class Context>
class RmsNormGradientOp final : public RmsNormBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using RmsNormBase<Context>::RmsNormBase;
  bool RunOnDevice() override { return FloatTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &dY = Input(0), &X = Input(1), &gamma = Input(2), &rrms = Input(3);
    const auto rows = this->RowsOf(X, gamma);
    CAFFE_ENFORCE(dY.numel() == X.numel() && rrms.numel() == rows.count,
                  "dY must have as many elements as X, and rrms one for each of its ", rows.count,
                  " rows: dY has shape ", ShapeString(dY.sizes()), ", rrms ",
                  ShapeString(rrms.sizes()), ", X ", ShapeString(X.sizes()));
    const T *dy = dY.data<T>(), *x = X.data<T>();
    const auto* r = rrms.data<ArithmeticType<T>>();
    Output(0)->ResizeLike(X);
    for (int i : {1, 2}) Output(i)->ResizeLike(gamma);
    ForEachRow(rows.count, rows.size,
               RmsNormGradientRows<T>{rows.size, dy, x, gamma.data<T>(), r,
                                      Output(0)->template mutable_data<T>()},
               &context_);
    RmsNormParameterGradients(rows.count, rows.size, dy, x, r,
                              Output(1)->template mutable_data<T>(),
                              Output(2)->template mutable_data<T>(), &context_);
    return true;
  }
};

}  // namespace caffe2
