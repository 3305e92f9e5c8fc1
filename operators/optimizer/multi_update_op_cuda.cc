// MultiMomentumSGDUpdate, MultiAdam, MultiAdagrad and MultiRmsProp on CUDA devices.
#include <algorithm>

#include "caffe2/cuda/context_cuda.h"
#include "operators/optimizer/multi_update_kernels.h"
#include "operators/optimizer/multi_update_op.h"
#include "operators/optimizer/update_op_cuda.h"

namespace caffe2 {
namespace {

template <class Rule>
using Part = typename MultiUpdateRun<Rule>::Part;

Number NumberOf(TypeMeta type) {
  return type.Match<float>()     ? Number::kFloat
         : type.Match<float16>() ? Number::kFloat16
                                 : Number::kBFloat16;
}

// The values that all parts share, and the pointers of one part.
template <class Rule>
BlockUpdate<Rule> UpdateOf(const MultiUpdateRun<Rule>& run, const Part<Rule>& part) {
  BlockUpdate<Rule> update;
  update.rule = run.rule;
  update.found_inf = run.found_inf;
  update.scale = run.scale;
  update.grad = part.grad;
  update.grad_type = NumberOf(run.grad_type);
  update.param = part.param;
  update.param_out = part.param_out;
  for (int s = 0; s < Rule::kStates; ++s) {
    update.state[s] = part.state[s];
    update.state_out[s] = part.state_out[s];
  }
  update.copy = part.copy;
  update.copy_type = NumberOf(run.copy_type);
  CAFFE_ENFORCE(part.copy == nullptr || update.grad_type == Number::kFloat ||
                    update.grad_type == update.copy_type,
                "the copies must have the type of the 16-bit gradients: gradients are ",
                run.grad_type.name(), ", copies ", run.copy_type.name());
  return update;
}

// The weight decay of every kFlatAlignment elements of the blocks.
template <class Rule>
const Tensor& DecayTable(MultiUpdateRun<Rule>* run) {
  const Part<Rule>&first = run->parts.front(), &last = run->parts.back();
  const int64_t chunks = (last.param - first.param + last.n + kFlatAlignment - 1) / kFlatAlignment;
  if (run->decays.numel() == chunks) return run->decays;
  std::vector<float> table(chunks, 0.f);
  for (const Part<Rule>& part : run->parts) {
    const int64_t begin = (part.param - first.param) / kFlatAlignment;
    std::fill_n(table.begin() + begin, (part.n + kFlatAlignment - 1) / kFlatAlignment, part.decay);
  }
  run->decays.CopyFrom(Tensor({chunks}, table));
  return run->decays;
}

}  // namespace

template <class Rule>
void RunUpdates(MultiUpdateRun<Rule>* run, const OperatorBase* op, CUDAContext* context) {
  const Rate lr = RateFor(*run->lr, "the learning rate", context);
  Rate correction{nullptr, 1.f};
  if constexpr (CorrectedRule<Rule>) correction = CorrectionOf(run->rule, *run->iter, context);
  const auto update_of = [&](const Part<Rule>& part) {
    BlockUpdate<Rule> update = UpdateOf<Rule>(*run, part);
    update.lr = lr;
    update.correction = correction;
    return update;
  };
  const bool wanted = op->template GetSingleArgument<bool>("flat", false);
  if (wanted && run->IsFlat()) {
    const Tensor& decays = DecayTable(run);
    BlockUpdate<Rule> update = update_of(run->parts.front());
    update.copy = const_cast<char*>(run->CopyBlock());
    LaunchFlatUpdate(decays.numel() * kFlatAlignment, kFlatAlignment, decays.template data<float>(),
                     update, context->stream());
    return;
  }
  if (wanted && !run->warned) {
    LOG(WARNING) << "operator " << op->debug_def().name() << " " << op->type() << ": the tensors "
                 << "are not laid out flat any more; each gets a kernel of its own";
    run->warned = true;
  }
  for (const Part<Rule>& part : run->parts) {
    LaunchUpdate(part.n, part.decay, update_of(part), context->stream());
  }
}

namespace {

using MultiMomentumSgd = MultiUpdateOp<CUDAContext, MomentumSgdRule>;
using MultiAdam = MultiUpdateOp<CUDAContext, AdamRule>;
using MultiAdagrad = MultiUpdateOp<CUDAContext, AdagradRule>;
using MultiRmsProp = MultiUpdateOp<CUDAContext, RmsPropRule>;
REGISTER_CUDA_OPERATOR(MultiMomentumSGDUpdate, MultiMomentumSgd);
REGISTER_CUDA_OPERATOR(MultiAdam, MultiAdam);
REGISTER_CUDA_OPERATOR(MultiAdagrad, MultiAdagrad);
REGISTER_CUDA_OPERATOR(MultiRmsProp, MultiRmsProp);

}  // namespace
}  // namespace caffe2
