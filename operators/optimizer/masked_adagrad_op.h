// Adagrad of parameters with a mask that keeps elements at zero. The mask is given, or the host
// makes it from the blocks with the smallest norms at chosen iterations (magnitude pruning).
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "operators/common/shape_input.h"
#include "operators/optimizer/masked_adagrad_functions.h"
#include "operators/optimizer/sparse_adagrad_op.h"

namespace caffe2 {

// The schedule of pruning: the arguments delays, prune_ratios and block_size.
class PruningPlan {
 public:
  explicit PruningPlan(const OperatorBase& op)
      : block_size_(op.GetSingleArgument<int64_t>("block_size", 1)),
        delays_(op.GetRepeatedArgument<int64_t>("delays")),
        ratios_(op.GetRepeatedArgument<float>("prune_ratios")) {
    CAFFE_ENFORCE(block_size_ > 0, "argument block_size must be positive, found ", block_size_);
    CAFFE_ENFORCE(delays_.size() == ratios_.size(), "arguments delays (", delays_.size(),
                  ") and prune_ratios (", ratios_.size(), ") must have the same length");
    for (const float ratio : ratios_) {
      CAFFE_ENFORCE(ratio >= 0 && ratio <= 1, "argument prune_ratios must be from 0 to 1, found ",
                    ratio);
    }
  }
  bool IsEmpty() const { return delays_.empty(); }
  int64_t block_size() const { return block_size_; }
  int64_t BlocksOf(int64_t width) const { return (width + block_size_ - 1) / block_size_; }
  // The share to prune at this iteration; negative for none.
  float RatioAt(int64_t iteration) const {
    const auto at = std::find(delays_.begin(), delays_.end(), iteration);
    return at == delays_.end() ? -1 : ratios_[at - delays_.begin()];
  }
  // Whether each block of each row is kept. Of n blocks, the floor(ratio * n) blocks with the
  // smallest norms are pruned; fewer if norms are equal.
  std::vector<bool> Kept(int64_t rows, int64_t width, const float* param, float ratio) const {
    const int64_t blocks = BlocksOf(width);
    std::vector<float> norms(rows * blocks, 0.f);
    for (int64_t i = 0; i < rows * width; ++i) {
      norms[i / width * blocks + i % width / block_size_] += param[i] * param[i];
    }
    const auto pruned = static_cast<size_t>(std::floor(static_cast<float>(norms.size()) * ratio));
    std::vector<bool> kept(norms.size(), pruned < norms.size());
    if (pruned == 0 || pruned >= norms.size()) return kept;
    std::vector<float> sorted = norms;
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<int64_t>(pruned), sorted.end());
    for (size_t i = 0; i < norms.size(); ++i) kept[i] = norms[i] >= sorted[pruned];
    return kept;
  }

 private:
  const int64_t block_size_;
  const std::vector<int64_t> delays_;
  const std::vector<float> ratios_;
};

// param, moment, grad, lr, mask, [iter, last_mask_updated_iter] -> param, moment, [mask,
// last_mask_updated_iter]. The mask is a float for each element; an empty mask keeps all.
template <class Context>
class MaskedAdagradOp final : public DenseUpdateOp<Context, AdagradRule> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  MaskedAdagradOp(const OperatorDef& def, Workspace* ws)
      : DenseUpdateOp<Context, AdagradRule>(
            def, ws,
            {.grad = 2, .param = 0, .states = 1, .lr = 3, .param_out = 0, .states_out = 1}),
        plan_(*this) {
    CAFFE_ENFORCE(plan_.IsEmpty() || (InputSize() == 7 && OutputSize() == 4),
                  "with the argument delays there must be 7 inputs and 4 outputs, found ",
                  InputSize(), " and ", OutputSize());
  }
  bool RunOnDevice() override {
    const Tensor& param = Input(PARAM);
    if (!plan_.IsEmpty()) UpdateMask(param);
    const Tensor& mask = plan_.IsEmpty() ? Input(MASK) : *Output(2);
    if (mask.numel() != 0) CheckOptimizerState(param, mask, "mask");
    const float* keep = mask.numel() == 0 ? nullptr : mask.data<float>();
    ForEach(param.numel(), MaskedAdagradElements{this->MakeUpdate(this->rule_), keep}, &context_);
    return true;
  }

 private:
  enum { PARAM = 0, MASK = 4, ITER, LAST_UPDATE };

  void UpdateMask(const Tensor& param) {
    const int64_t iteration = ReadInteger(this->template Input<Tensor>(ITER), "iter");
    const Tensor& last = this->template Input<Tensor>(LAST_UPDATE);
    const float ratio = plan_.RatioAt(iteration);
    if (ratio < 0 || ReadInteger(last, "last_mask_updated_iter") == iteration) return;
    if (last.GetDeviceType() == CPU) {
      *UpdatedData<int64_t>(this->OutputCPU(3)) = iteration;
    } else {
      context_.Copy(1, &iteration, UpdatedData<int64_t>(Output(3)));
    }
    const int64_t rows = param.dim() > 1 ? param.size(0) : 1;
    const int64_t width = rows == 0 ? 0 : param.numel() / rows;
    Tensor copy(CPU);
    const std::vector<bool> kept =
        plan_.Kept(rows, width, OnHost(param, &copy).template data<float>(), ratio);
    std::vector<float> mask(param.numel());
    for (int64_t i = 0; i < param.numel(); ++i) {
      mask[i] = kept[i / width * plan_.BlocksOf(width) + i % width / plan_.block_size()];
    }
    Output(2)->ResizeLike(param);
    context_.Copy(mask.size(), mask.data(), Output(2)->template mutable_data<float>());
  }

  const PruningPlan plan_;
};

// param, moment, indices, grad, lr, mask, mask_changed, [iter, ...] -> param, moment, [mask].
template <class Context, template <class, typename> class Rows>
class MaskedSparseAdagradOp final : public SparseUpdateOp<Context, AdagradRule, Rows> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  MaskedSparseAdagradOp(const OperatorDef& def, Workspace* ws)
      : SparseUpdateOp<Context, AdagradRule, Rows>(def, ws, kSparseAdagradLayout),
        plan_(*this),
        made_mask_(context_.device()) {
    CAFFE_ENFORCE(plan_.IsEmpty() ? InputSize() > MASK_CHANGED : InputSize() > ITER,
                  plan_.IsEmpty() ? "there is no input mask_changed"
                                  : "the argument delays needs the input iter");
  }
  bool RunOnDevice() override {
    using Update = Rows<AdagradRule, float>;
    const Tensor& param = Input(PARAM);
    const Update update = this->template MakeRows<Rows>(this->rule_);
    const int64_t rows = param.size(0), width = update.width;
    const bool changed = plan_.IsEmpty() ? MaskChanged() : UpdateMask(param);
    const ClearMaskedRow clear{width, MaskOf(rows, width), update.elements.param_out,
                               Update::kRowWise ? nullptr : update.elements.state_out[0]};
    if (changed) ForEachRow(rows, width, clear, &context_);  // rows without a gradient, too
    this->UpdateParamRows(MaskedRow<Update>{width, update, clear});
    return true;
  }

 private:
  enum { PARAM = 0, MASK = 5, MASK_CHANGED, ITER };

  bool MaskChanged() const {
    Tensor copy(CPU);
    const Tensor& changed = OnHost(this->template Input<Tensor>(MASK_CHANGED), &copy);
    CAFFE_ENFORCE(changed.numel() == 1, "mask_changed must have one element, found ",
                  changed.numel());
    return *changed.template data<bool>();
  }

  // The mask made by the pruning schedule: the output, if there is one, so that it can be saved.
  Tensor* MadeMask() { return OutputSize() > 2 ? Output(2) : &made_mask_; }

  BitMask MaskOf(int64_t rows, int64_t width) {
    BitMask mask{nullptr, (plan_.BlocksOf(width) + 7) / 8, plan_.block_size()};
    const Tensor& bits = plan_.IsEmpty() ? Input(MASK) : *MadeMask();
    if (!plan_.IsEmpty() && bits.numel() == 0) return mask;  // no mask yet
    CAFFE_ENFORCE(bits.numel() == rows * mask.bytes_a_row, "the mask must have ", mask.bytes_a_row,
                  " bytes for each of the ", rows, " rows of ", width, " elements, found shape ",
                  ShapeString(bits.sizes()));
    mask.bits = bits.data<uint8_t>();
    return mask;
  }

  // True if this is an iteration that makes a new mask.
  bool UpdateMask(const Tensor& param) {
    const float ratio = plan_.RatioAt(ReadInteger(this->template Input<Tensor>(ITER), "iter"));
    if (ratio < 0) return false;
    const int64_t rows = param.size(0), width = param.size_from_dim(1);
    const int64_t blocks = plan_.BlocksOf(width), bytes = (blocks + 7) / 8;
    Tensor copy(CPU);
    const std::vector<bool> kept =
        plan_.Kept(rows, width, OnHost(param, &copy).template data<float>(), ratio);
    std::vector<uint8_t> bits(rows * bytes, 0);
    for (int64_t i = 0; i < rows * blocks; ++i) {
      if (kept[i]) bits[i / blocks * bytes + i % blocks / 8] |= 1 << (i % blocks % 8);
    }
    Tensor* mask = MadeMask();
    mask->Resize(rows, bytes);
    context_.Copy(bits.size(), bits.data(), mask->template mutable_data<uint8_t>());
    return true;
  }

  const PruningPlan plan_;
  Tensor made_mask_;
};

}  // namespace caffe2
