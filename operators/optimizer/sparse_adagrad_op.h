// SparseAdagrad and RowWiseSparseAdagrad: Adagrad of the rows that a sparse gradient names. The
// parameter may be float16.
#pragma once

#include "operators/optimizer/adagrad_op.h"

namespace caffe2 {

inline constexpr UpdateLayout kSparseAdagradLayout{
    .grad = 3, .param = 0, .states = 1, .indices = 2, .lr = 4, .param_out = 0, .states_out = 1};

template <class Context>
class SparseAdagradOp final : public SparseUpdateOp<Context, WithWeightDecay<AdagradRule>> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SparseAdagradOp(const OperatorDef& def, Workspace* ws)
      : SparseUpdateOp<Context, WithWeightDecay<AdagradRule>>(def, ws, kSparseAdagradLayout) {}
  bool RunOnDevice() override {
    return TensorTypes<float, float16>::Dispatch(this, Input(this->layout_.param).dtype());
  }
  template <typename P>
  bool DoRunWithType() {
    this->UpdateParamRows(this->template MakeRows<SparseUpdate, P>(this->rule_));
    return true;
  }
};

// The moment holds one number for each row.
template <class Context>
class RowWiseSparseAdagradOp final
    : public SparseUpdateOp<Context, WithWeightDecay<AdagradRule>, RowWiseUpdate> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  RowWiseSparseAdagradOp(const OperatorDef& def, Workspace* ws)
      : SparseUpdateOp<Context, WithWeightDecay<AdagradRule>, RowWiseUpdate>(def, ws,
                                                                             kSparseAdagradLayout),
        counter_halflife_(static_cast<double>(
            this->template GetSingleArgument<int64_t>("counter_halflife", -1))) {}
  bool RunOnDevice() override {
    return TensorTypes<float, float16>::Dispatch(this, Input(this->layout_.param).dtype());
  }
  template <typename P>
  bool DoRunWithType() {
    const auto rows = this->template MakeRows<RowWiseUpdate, P>(this->rule_);
    const double* counts = nullptr;
    if (InputSize() > COUNTER) {
      CheckRowWiseState(Input(this->layout_.param), Input(COUNTER), "counter");
      counts = Input(COUNTER).template data<double>();
    }
    this->UpdateParamRows(CountedAdagradUpdate<P>{rows.width, rows, counts, counter_halflife_});
    return true;
  }

 private:
  enum { COUNTER = 5 };
  const double counter_halflife_;
};

}  // namespace caffe2
