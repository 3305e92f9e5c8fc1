// Adagrad of parameters of which a mask keeps elements at zero: given, or made of the blocks of
// least norm at chosen iterations (magnitude pruning).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "operators/adagrad_op.h"
#include "operators/optimizer_check.h"

namespace caffe2 {
namespace {

// When how much is pruned: the arguments delays, prune_ratios and block_size.
class PruningPlan {
 public:
  explicit PruningPlan(const OperatorBase& op)
      : block_size_(op.GetSingleArgument<int64_t>("block_size", 1)),
        delays_(op.GetRepeatedArgument<int64_t>("delays")),
        ratios_(op.GetRepeatedArgument<float>("prune_ratios")) {
    CAFFE_ENFORCE_GT(block_size_, 0, "the argument block_size");
    CAFFE_ENFORCE_EQ(delays_.size(), ratios_.size(), "delays and prune_ratios");
    for (const float ratio : ratios_) {
      CAFFE_ENFORCE(ratio >= 0 && ratio <= 1, "a prune ratio is ", ratio);
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
  // Whether each block of each row is kept: all but floor(share of blocks) of least norm (more
  // where norms are equal).
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

int64_t ReadIteration(const Tensor& iter) {
  CAFFE_ENFORCE_EQ(iter.numel(), 1, "iter must be a scalar");
  return *iter.data<int64_t>();
}

void DescribePruning(OpSchema& schema) {
  schema.Arg("epsilon", "(float, default 1e-5) Added to the divisor.")
      .Arg("delays", "(list of ints) Iterations at which the mask is made anew. Needs iter.")
      .Arg("prune_ratios", "(list of floats) The share of blocks that each of them prunes.")
      .Arg("block_size", "(int, default 1) Elements of a row that go together.");
}

// param, moment, grad, lr, mask, [iter, last_mask_updated_iter] -> param, moment, [mask,
// last_mask_updated_iter]. The mask is a float for each element; one without elements keeps all.
class MaskedAdagradOp final : public Operator<CPUContext> {
 public:
  MaskedAdagradOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        arguments_{GetSingleArgument<float>("epsilon", 1e-5f),
                   GetSingleArgument<float>("decay", 1.f), 0},
        plan_(*this) {
    CAFFE_ENFORCE(plan_.IsEmpty() || (InputSize() == 7 && OutputSize() == 4),
                  "delays need the inputs iter and last_mask_updated_iter, and mask as an output");
  }
  bool RunOnDevice() override {
    const Tensor &param = Input(PARAM), &grad = Input(GRAD);
    CheckOptimizerState(param, Input(MOMENT), "moment");
    CheckOptimizerState(param, grad, "gradient");
    const float lr = *CheckLearningRate(Input(LR));
    if (!plan_.IsEmpty()) UpdateMask(param);
    const Tensor& mask = plan_.IsEmpty() ? Input(MASK) : *Output(2);
    const int64_t n = param.numel();
    Output(0)->ResizeLike(param);
    Output(1)->ResizeLike(Input(MOMENT));
    auto *p = UpdatedData<float>(Output(0)), *h = UpdatedData<float>(Output(1));
    AdagradUpdate(n, arguments_, lr, param.data<float>(), Input(MOMENT).data<float>(),
                  grad.data<float>(), p, h);
    if (mask.numel() == 0) return true;
    CheckOptimizerState(param, mask, "mask");
    const auto* keep = mask.data<float>();
    for (int64_t i = 0; i < n; ++i) {
      p[i] *= keep[i];
      h[i] *= keep[i];
    }
    return true;
  }

 private:
  enum { PARAM, MOMENT, GRAD, LR, MASK, ITER, LAST_UPDATE };

  void UpdateMask(const Tensor& param) {
    const int64_t iteration = ReadIteration(Input(ITER));
    const float ratio = plan_.RatioAt(iteration);
    CAFFE_ENFORCE_EQ(Output(3)->numel(), 1, "last_mask_updated_iter must be a scalar");
    auto* last = UpdatedData<int64_t>(Output(3));
    if (ratio < 0 || *last == iteration) return;
    *last = iteration;
    const int64_t rows = param.dim() > 1 ? param.size(0) : 1;
    const int64_t width = rows == 0 ? 0 : param.numel() / rows;
    const std::vector<bool> kept = plan_.Kept(rows, width, param.data<float>(), ratio);
    Output(2)->ResizeLike(param);
    auto* mask = Output(2)->mutable_data<float>();
    for (int64_t i = 0; i < param.numel(); ++i) {
      mask[i] = kept[i / width * plan_.BlocksOf(width) + i % width / plan_.block_size()];
    }
  }

  const AdagradArguments arguments_;
  const PruningPlan plan_;
};

// Bit j % 8 of byte j / 8 of a row says whether block j of the parameter's row is kept.
struct BitMask {
  const uint8_t* bits = nullptr;  // null keeps all
  int64_t bytes_a_row = 0, block_size = 1;

  bool Keeps(int64_t row, int64_t column) const {
    const int64_t block = column / block_size;
    return bits == nullptr || ((bits[row * bytes_a_row + block / 8] >> (block % 8)) & 1) != 0;
  }
};

// param, moment, indices, grad, lr, mask, mask_changed, [iter, ...] -> param, moment, [mask].
// kRowWise: the moment holds one number a row, the sum of the rows' mean squares.
template <bool kRowWise>
class MaskedSparseAdagradOp final : public Operator<CPUContext> {
 public:
  MaskedSparseAdagradOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        arguments_{GetSingleArgument<float>("epsilon", 1e-5f), 1.f, 0},
        plan_(*this) {
    CAFFE_ENFORCE(plan_.IsEmpty() ? InputSize() > MASK_CHANGED : InputSize() > ITER,
                  plan_.IsEmpty() ? "mask_changed" : "delays need the input iter, which",
                  " is missing");
  }
  bool RunOnDevice() override {
    const Tensor &param = Input(PARAM), &moment = Input(MOMENT), &grad = Input(GRAD);
    const RowUpdate update = CheckRowUpdate(param, Input(INDICES), grad);
    CheckStateOfRows<kRowWise>(param, moment, "moment");
    const float lr = *CheckLearningRate(Input(LR));
    const auto* g = grad.data<float>();
    auto *p = UpdatedData<float>(Output(0)), *h = UpdatedData<float>(Output(1));
    const bool changed =
        plan_.IsEmpty() ? *Input(MASK_CHANGED).template data<bool>() : UpdateMask(param);
    const BitMask mask = MaskOf(param.size(0), update.width);
    if (changed) {  // rows without a gradient, too
      for (int64_t row = 0; row < param.size(0); ++row) Clear(mask, row, update.width, p, h);
    }
    for (const int64_t row : update.rows) {
      float *p_row = p + row * update.width, *h_row = h + row * (kRowWise ? 1 : update.width);
      if (kRowWise) {
        UpdateRow(update.width, lr, g, p_row, h_row);
      } else {
        AdagradUpdate(update.width, arguments_, lr, p_row, h_row, g, p_row, h_row);
      }
      Clear(mask, row, update.width, p, h);
      g += update.width;
    }
    return true;
  }

 private:
  enum { PARAM, MOMENT, INDICES, GRAD, LR, MASK, MASK_CHANGED, ITER };

  // Sets to zero what the mask does not keep.
  static void Clear(const BitMask& mask, int64_t row, int64_t width, float* p, float* h) {
    for (int64_t j = 0; j < width; ++j) {
      if (mask.Keeps(row, j)) continue;
      p[row * width + j] = 0;
      if (!kRowWise) h[row * width + j] = 0;
    }
  }

  void UpdateRow(int64_t n, float lr, const float* g, float* p, float* h) const {
    const float squares = std::inner_product(g, g + n, g, 0.f);
    *h += n == 0 ? 0.f : squares / static_cast<float>(n);
    const float step = lr / (std::sqrt(*h) + arguments_.epsilon);
    for (int64_t i = 0; i < n; ++i) p[i] += step * g[i];
  }

  // Where `delays` put the mask: in the output, if there is one, so that it can be saved.
  Tensor* MadeMask() { return OutputSize() > 2 ? Output(2) : &made_mask_; }

  BitMask MaskOf(int64_t rows, int64_t width) {
    BitMask mask{nullptr, (plan_.BlocksOf(width) + 7) / 8, plan_.block_size()};
    const Tensor& bits = plan_.IsEmpty() ? Input(MASK) : *MadeMask();
    if (!plan_.IsEmpty() && bits.numel() == 0) return mask;  // not yet
    CAFFE_ENFORCE_EQ(bits.numel(), rows * mask.bytes_a_row, "bytes of mask ",
                     ShapeString(bits.sizes()), " for a parameter of ", rows, " rows of ", width);
    mask.bits = bits.data<uint8_t>();
    return mask;
  }

  // True if this is an iteration that makes a new mask.
  bool UpdateMask(const Tensor& param) {
    const float ratio = plan_.RatioAt(ReadIteration(Input(ITER)));
    if (ratio < 0) return false;
    const int64_t rows = param.size(0), width = param.size_from_dim(1);
    const int64_t blocks = plan_.BlocksOf(width), bytes = (blocks + 7) / 8;
    const std::vector<bool> kept = plan_.Kept(rows, width, param.data<float>(), ratio);
    Tensor* mask = MadeMask();
    mask->Resize(rows, bytes);
    auto* bits = mask->mutable_data<uint8_t>();
    std::fill_n(bits, rows * bytes, uint8_t{0});
    for (int64_t i = 0; i < rows * blocks; ++i) {
      if (kept[i]) bits[i / blocks * bytes + i % blocks / 8] |= 1 << (i % blocks % 8);
    }
    return true;
  }

  const AdagradArguments arguments_;
  const PruningPlan plan_;
  Tensor made_mask_{CPU};
};

std::vector<TensorShape> InferSparse(const OperatorDef& def, const std::vector<TensorShape>& in) {
  std::vector<TensorShape> out{in[0], in[1]};
  out.resize(def.output_size(), UnknownTensorShape());
  return out;
}

void DescribeSparse(OpSchema& schema) {
  schema.NumInputs(6, 9)
      .NumOutputs(2, 4)
      .EnforceInplace({{0, 0}, {1, 1}})
      .AllowInplace({{0, 0}, {1, 1}, {5, 2}, {8, 3}})
      .TensorInferenceFunction(InferSparse)
      .FillUsing(DescribePruning)
      .Input(0, "param", "The float parameter; updated.")
      .Input(2, "indices", "int32 or int64: the rows to update.")
      .Input(3, "grad", "Their gradients, one row for each index.")
      .Input(4, "lr", "The learning rate, a float scalar; negative to descend.")
      .Input(5, "mask",
             "uint8, for each row of the parameter a bit for each block of it, the first in the "
             "lowest bit: whether it is kept. With delays that of the run before, if the output "
             "mask is "
             "the same blob; empty before the first.")
      .Input(6, "mask_changed", "One bool: whether rows without a gradient are masked, too.")
      .Input(7, "iter", "Optional: the iteration, int64 of one element.")
      .Input(8, "last_mask_updated_iter", "Optional; not read.")
      .Output(0, "output_param", "The parameter, in place.")
      .Output(1, "output_moment_1", "The moment, in place.")
      .Output(2, "mask_out", "Optional, may be mask: the mask that delays made; empty before.")
      .Output(3, "last_mask_updated_iter_out", "Optional; not written.");
}

REGISTER_CPU_OPERATOR(MaskedAdagrad, MaskedAdagradOp);
REGISTER_CPU_OPERATOR(MaskedSparseAdagrad, MaskedSparseAdagradOp<false>);
REGISTER_CPU_OPERATOR(MaskedRowWiseSparseAdagrad, MaskedSparseAdagradOp<true>);

OPERATOR_SCHEMA(MaskedAdagrad)
    .NumInputs(5, 7)
    .NumOutputs(2, 4)
    .AllowInplace({{0, 0}, {1, 1}, {4, 2}, {6, 3}})
    .TensorInferenceFunction(InferSparse)
    .FillUsing(DescribePruning)
    .SetDoc("Adagrad of a parameter of which a mask keeps elements, and their moments, at zero.")
    .Arg("decay", "(float, default 1) The share of the moment that is kept.")
    .Input(0, "param", "The float parameter.")
    .Input(1, "moment", "The sum of squares, shaped like it.")
    .Input(2, "grad", "The gradient, shaped like it.")
    .Input(3, "lr", "The learning rate, a float scalar; negative to descend.")
    .Input(4, "mask", "Float, shaped like it: 1 or 0; without elements, all are kept.")
    .Input(5, "iter", "With delays: the iteration, int64 of one element.")
    .Input(6, "last_mask_updated_iter", "With delays: int64 of one element, -1 at first.")
    .Output(0, "output_param", "The updated parameter.")
    .Output(1, "output_moment", "The updated moment.")
    .Output(2, "mask_out", "With delays: the mask, in place.")
    .Output(3, "last_mask_updated_iter_out", "With delays: when it was made, in place.");
OPERATOR_SCHEMA(MaskedSparseAdagrad)
    .FillUsing(DescribeSparse)
    .SetDoc("SparseAdagrad of a parameter of which a mask keeps blocks of elements at zero.")
    .Input(1, "moment", "The sum of squares, shaped like the parameter; updated.");
OPERATOR_SCHEMA(MaskedRowWiseSparseAdagrad)
    .FillUsing(DescribeSparse)
    .SetDoc("RowWiseSparseAdagrad of a parameter of which a mask keeps blocks of elements at zero.")
    .Input(1, "moment", "One number for each row of the parameter; updated.");
SHOULD_NOT_DO_GRADIENT(MaskedAdagrad);
SHOULD_NOT_DO_GRADIENT(MaskedSparseAdagrad);
SHOULD_NOT_DO_GRADIENT(MaskedRowWiseSparseAdagrad);

}  // namespace
}  // namespace caffe2
