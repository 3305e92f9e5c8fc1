// MarginRankingCriterion and CosineEmbeddingCriterion: losses of pairs.
#pragma once

#include "operators/loss_functions.h"
#include "operators/portable_op.h"

namespace caffe2 {

// The argument margin, and the check of shapes.
template <class Context>
class CriterionBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  CriterionBase(const OperatorDef& def, Workspace* ws, float default_margin)
      : Operator<Context>(def, ws),
        margin_(this->template GetSingleArgument<float>("margin", default_margin)) {}

 protected:
  // Throws unless all inputs have the shape of input 0.
  void CheckShapes() const {
    for (int i = 1; i < InputSize(); ++i) {
      CAFFE_ENFORCE(Input(i).sizes() == Input(0).sizes(), "input ", i, " ",
                    ShapeString(Input(i).sizes()), " is not shaped like input 0 ",
                    ShapeString(Input(0).sizes()));
    }
  }
  // Output i in the shape of input 0.
  template <typename T>
  T* OutputData(int i) {
    Output(i)->ResizeLike(Input(0));
    return Output(i)->template mutable_data<T>();
  }

  const float margin_;
};

// X1, X2, Y -> loss
template <class Context>
class MarginRankingCriterionOp final : public CriterionBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  MarginRankingCriterionOp(const OperatorDef& def, Workspace* ws)
      : CriterionBase<Context>(def, ws, 1.f) {}
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    this->CheckShapes();
    ForEach(
        Input(0).numel(),
        MarginRanking<T>{this->margin_, Input(0).template data<T>(), Input(1).template data<T>(),
                         Input(2).template data<int32_t>(), this->template OutputData<T>(0)},
        &context_);
    return true;
  }
};

// X1, X2, Y, dloss -> dX1, dX2
template <class Context>
class MarginRankingCriterionGradientOp final : public CriterionBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  MarginRankingCriterionGradientOp(const OperatorDef& def, Workspace* ws)
      : CriterionBase<Context>(def, ws, 1.f) {}
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    this->CheckShapes();
    ForEach(Input(0).numel(),
            MarginRankingGradient<T>{this->margin_, Input(0).template data<T>(),
                                     Input(1).template data<T>(), Input(2).template data<int32_t>(),
                                     Input(3).template data<T>(), this->template OutputData<T>(0),
                                     this->template OutputData<T>(1)},
            &context_);
    return true;
  }
};

// S, Y -> loss
template <class Context>
class CosineEmbeddingCriterionOp final : public CriterionBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  CosineEmbeddingCriterionOp(const OperatorDef& def, Workspace* ws)
      : CriterionBase<Context>(def, ws, 0.f) {}
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    this->CheckShapes();
    ForEach(Input(0).numel(),
            CosineEmbedding<T>{this->margin_, Input(0).template data<T>(),
                               Input(1).template data<int32_t>(), this->template OutputData<T>(0)},
            &context_);
    return true;
  }
};

// S, Y, dloss -> dS
template <class Context>
class CosineEmbeddingCriterionGradientOp final : public CriterionBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  CosineEmbeddingCriterionGradientOp(const OperatorDef& def, Workspace* ws)
      : CriterionBase<Context>(def, ws, 0.f) {}
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    this->CheckShapes();
    ForEach(Input(0).numel(),
            CosineEmbeddingGradient<T>{
                this->margin_, Input(0).template data<T>(), Input(1).template data<int32_t>(),
                Input(2).template data<T>(), this->template OutputData<T>(0)},
            &context_);
    return true;
  }
};

}  // namespace caffe2
