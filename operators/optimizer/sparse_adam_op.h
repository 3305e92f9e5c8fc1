// SparseAdam and RowWiseSparseAdam: Adam of the rows that a sparse gradient names.
#pragma once

#include "caffe2/core/device_backend.h"
#include "operators/optimizer/adam_op.h"

namespace caffe2 {

inline constexpr UpdateLayout kSparseAdamLayout{.grad = 4,
                                                .param = 0,
                                                .states = 1,
                                                .indices = 3,
                                                .lr = 5,
                                                .iter = 6,
                                                .param_out = 0,
                                                .states_out = 1,
                                                .step_out = 3};

template <class Context>
class SparseAdamOp final : public SparseUpdateOp<Context, AdamRule> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SparseAdamOp(const OperatorDef& def, Workspace* ws)
      : SparseUpdateOp<Context, AdamRule>(def, ws, kSparseAdamLayout),
        rectified_(this->template GetSingleArgument<bool>("enableRAdam", false)) {}
  bool RunOnDevice() override {
    if (!rectified_) return SparseUpdateOp<Context, AdamRule>::RunOnDevice();
    Tensor copy(CPU);
    const Tensor& iter = OnHost(this->template Input<Tensor>(this->layout_.iter), &copy);
    CAFFE_ENFORCE(iter.numel() == 1, "the iteration counter must have one element, found shape ",
                  ShapeString(iter.sizes()));
    const auto rule = RectifiedAdamRule::At(this->rule_, *iter.template data<int64_t>());
    this->UpdateParamRows(this->template MakeRows<SparseUpdate>(rule));
    return true;
  }

 private:
  const bool rectified_;
};

// The second moment holds one number for each row.
template <class Context>
class RowWiseSparseAdamOp final : public SparseUpdateOp<Context, AdamRule, RowWiseUpdate> {
 public:
  RowWiseSparseAdamOp(const OperatorDef& def, Workspace* ws)
      : SparseUpdateOp<Context, AdamRule, RowWiseUpdate>(def, ws, kSparseAdamLayout) {}
};

}  // namespace caffe2
