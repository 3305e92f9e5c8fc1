// Mod, StumpFunc, BatchBoxCox, SquareRootDivide, BernoulliJSD and SinusoidPositionEncoding.
// portable_op.h or portable_cuda.h runs the functors.
#pragma once

#include <vector>

#include "operators/common/element_type.h"
#include "operators/elementwise/transform_functions.h"

namespace caffe2 {

template <class Context>
class ModOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  ModOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        mod_{this->template GetSingleArgument<int64_t>("divisor", 0),
             this->template GetSingleArgument<bool>("sign_follow_divisor", false)} {
    CAFFE_ENFORCE_NE(mod_.divisor, 0, "the argument divisor");
  }
  bool RunOnDevice() override { return IntegerTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    const T* x = X.template data<T>();
    Output(0)->ResizeLike(X);
    MapElements(mod_, X.numel(), &context_, Output(0)->template mutable_data<T>(), x);
    return true;
  }

 private:
  const ModValue mod_;
};

template <class Context>
class StumpFuncOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  StumpFuncOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        stump_{this->template GetSingleArgument<float>("threshold", 0),
               this->template GetSingleArgument<float>("low_value", 0),
               this->template GetSingleArgument<float>("high_value", 0)} {}
  bool RunOnDevice() override { return TensorTypes<float>::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    const T* x = X.template data<T>();
    Output(0)->ResizeLike(X);
    MapElements(stump_, X.numel(), &context_, Output(0)->template mutable_data<T>(), x);
    return true;
  }

 private:
  const StumpValue stump_;
};

template <class Context>
class BatchBoxCoxOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(BatchBoxCoxOp);
  bool RunOnDevice() override {
    return TensorTypes<float, double>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &X = Input(0), &L1 = Input(1), &L2 = Input(2);
    CAFFE_ENFORCE_GE(X.dim(), 1, "the data must have rows");
    const int64_t columns = X.size_from_dim(1);
    CAFFE_ENFORCE(L1.numel() == columns && L2.numel() == columns, "lambda1 ",
                  ShapeString(L1.sizes()), " and lambda2 ", ShapeString(L2.sizes()), " for data ",
                  ShapeString(X.sizes()));
    const T *x = X.template data<T>(), *lambda1 = L1.template data<T>(),
            *lambda2 = L2.template data<T>();
    Output(0)->ResizeLike(X);
    ForEach(X.numel(),
            BoxCoxElements<T>{columns, x, lambda1, lambda2, Output(0)->template mutable_data<T>()},
            &context_);
    return true;
  }
};

template <class Context>
class SquareRootDivideOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(SquareRootDivideOp);
  bool RunOnDevice() override {
    return TensorTypes<float, int32_t, int64_t>::Dispatch(this, Input(1).dtype());
  }
  template <typename S>
  bool DoRunWithType() {
    const Tensor &X = Input(0), &scale = Input(1);
    CAFFE_ENFORCE(X.dim() >= 1 && scale.numel() == X.size(0), "scale ", ShapeString(scale.sizes()),
                  " for the rows of ", ShapeString(X.sizes()));
    const float* x = X.data<float>();
    Output(0)->ResizeLike(X);
    ForEach(X.numel(),
            RootDivideElements<S>{X.size_from_dim(1), x, scale.template data<S>(),
                                  Output(0)->template mutable_data<float>()},
            &context_);
    return true;
  }
};

inline void CheckProbabilities(const Tensor& X, const Tensor& T) {
  CAFFE_ENFORCE_EQ(T.numel(), X.numel(), "probabilities ", ShapeString(T.sizes()), " for ",
                   ShapeString(X.sizes()));
}

template <class Context>
class BernoulliJSDOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(BernoulliJSDOp);
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &T = Input(1);
    CheckProbabilities(X, T);
    const float *x = X.data<float>(), *t = T.data<float>();
    Output(0)->ResizeLike(X);
    MapElements(BernoulliDivergence{}, X.numel(), &context_,
                Output(0)->template mutable_data<float>(), x, t);
    return true;
  }
};

template <class Context>
class BernoulliJSDGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(BernoulliJSDGradientOp);
  bool RunOnDevice() override {
    const Tensor &dY = Input(0), &X = Input(1), &T = Input(2);
    CheckProbabilities(X, T);
    CheckProbabilities(X, dY);
    const float *dy = dY.data<float>(), *x = X.data<float>(), *t = T.data<float>();
    Output(0)->ResizeLike(X);
    MapElements(BernoulliSlope{}, X.numel(), &context_, Output(0)->template mutable_data<float>(),
                dy, x, t);
    return true;
  }
};

template <class Context>
class SinusoidPositionEncodingOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SinusoidPositionEncodingOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        size_(this->template GetSingleArgument<int>("embedding_size", 100)),
        alpha_(this->template GetSingleArgument<float>("alpha", 10000.f)),
        amplitude_(this->template GetSingleArgument<float>("amplitude", 1.f)) {
    CAFFE_ENFORCE_GT(size_, 0, "the argument embedding_size");
    CAFFE_ENFORCE_GT(alpha_, 0, "the argument alpha");
  }
  bool RunOnDevice() override { return IndexTypes::Dispatch(this, Input(0).dtype()); }
  template <typename Index>
  bool DoRunWithType() {
    const Tensor& positions = Input(0);
    const Index* position = positions.template data<Index>();
    std::vector<int64_t> dims = positions.sizes();
    dims.push_back(size_);
    Output(0)->Resize(dims);
    ForEach(Output(0)->numel(),
            SinusoidElements<Index>{size_, alpha_, amplitude_, position,
                                    Output(0)->template mutable_data<float>()},
            &context_);
    return true;
  }

 private:
  int size_;
  float alpha_, amplitude_;
};

}  // namespace caffe2
