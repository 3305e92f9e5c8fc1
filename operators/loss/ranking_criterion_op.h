// MarginRankingCriterion and CosineEmbeddingCriterion: losses of pairs.
#pragma once

#include "operators/common/host_device_op.h"
#include "operators/loss/loss_functions.h"

namespace caffe2 {

// One of these losses, element by element, or its gradient. `Loss` has the default of the argument
// margin and binds the function of one element to the operator's inputs and outputs, which all have
// one shape.
template <class Context, class Loss>
class CriterionOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  CriterionOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        margin_(this->template GetSingleArgument<float>("margin", Loss::kDefaultMargin)) {}

  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    for (int i = 1; i < InputSize(); ++i) {
      CAFFE_ENFORCE(Input(i).sizes() == Input(0).sizes(),
                    "all inputs must have the same shape: input ", i, " has shape ",
                    ShapeString(Input(i).sizes()), ", input 0 ", ShapeString(Input(0).sizes()));
    }
    ForEach(Input(0).numel(), Loss::template Bind<T>(this), &context_);
    return true;
  }

  float margin() const { return margin_; }
  template <typename T>
  const T* In(int i) const {
    return Input(i).template data<T>();
  }
  // Output i in the shape of input 0.
  template <typename T>
  T* Out(int i) {
    Output(i)->ResizeLike(Input(0));
    return Output(i)->template mutable_data<T>();
  }

 private:
  const float margin_;
};

// X1, X2, Y -> loss
struct MarginRankingLoss {
  static constexpr float kDefaultMargin = 1;
  template <typename T, class Op>
  static MarginRanking<T> Bind(Op* op) {
    return {op->margin(), op->template In<T>(0), op->template In<T>(1), op->template In<int32_t>(2),
            op->template Out<T>(0)};
  }
};
// X1, X2, Y, dloss -> dX1, dX2
struct MarginRankingLossGradient {
  static constexpr float kDefaultMargin = MarginRankingLoss::kDefaultMargin;
  template <typename T, class Op>
  static MarginRankingGradient<T> Bind(Op* op) {
    return {op->margin(),          op->template In<T>(0),
            op->template In<T>(1), op->template In<int32_t>(2),
            op->template In<T>(3), op->template Out<T>(0),
            op->template Out<T>(1)};
  }
};
// S, Y -> loss
struct CosineEmbeddingLoss {
  static constexpr float kDefaultMargin = 0;
  template <typename T, class Op>
  static CosineEmbedding<T> Bind(Op* op) {
    return {op->margin(), op->template In<T>(0), op->template In<int32_t>(1),
            op->template Out<T>(0)};
  }
};
// S, Y, dloss -> dS
struct CosineEmbeddingLossGradient {
  static constexpr float kDefaultMargin = CosineEmbeddingLoss::kDefaultMargin;
  template <typename T, class Op>
  static CosineEmbeddingGradient<T> Bind(Op* op) {
    return {op->margin(), op->template In<T>(0), op->template In<int32_t>(1), op->template In<T>(2),
            op->template Out<T>(0)};
  }
};

template <class Context>
using MarginRankingCriterionOp = CriterionOp<Context, MarginRankingLoss>;
template <class Context>
using MarginRankingCriterionGradientOp = CriterionOp<Context, MarginRankingLossGradient>;
template <class Context>
using CosineEmbeddingCriterionOp = CriterionOp<Context, CosineEmbeddingLoss>;
template <class Context>
using CosineEmbeddingCriterionGradientOp = CriterionOp<Context, CosineEmbeddingLossGradient>;

}  // namespace caffe2
