// MultiMomentumSGDUpdate on CUDA devices.
#include "caffe2/cuda/context_cuda.h"
#include "operators/multi_momentum_sgd_op.h"
#include "operators/optimizer_kernels.h"

namespace caffe2 {

template <>
void MultiMomentumSgdOp<CUDAContext>::Update(const Tensor& lr) {
  const CudaScalar rate = ReadScalar(lr, "the learning rate");
  const auto step_of = [&](const One& one) {
    MomentumSgdStep<float> step;
    step.lr = {rate.address, rate.value};
    step.momentum = factors_.momentum;
    step.a = factors_.a;
    step.b = factors_.b;
    step.weight_decay = one.decay;
    step.grad = one.grad;
    step.moment = one.moment;
    step.param = one.param;
    step.moment_out = one.moment_out;
    step.param_out = one.param_out;
    return step;
  };
  const bool wanted = this->template GetSingleArgument<bool>("flat", false);
  if (!wanted || !IsFlat()) {
    if (wanted && !warned_) {
      LOG(WARNING) << "operator " << debug_def().name() << " " << type() << ": the tensors are not "
                   << "laid out flat any more; each gets a kernel of its own";
      warned_ = true;
    }
    for (const One& one : updates_) LaunchMomentumSgd(one.n, step_of(one), context_.stream());
    return;
  }
  const One &first = updates_.front(), &last = updates_.back();
  const int64_t chunks = (last.param - first.param + last.n + kFlatAlignment - 1) / kFlatAlignment;
  if (table_.numel() != chunks) {
    std::vector<float> table(chunks, 0.f);
    for (const One& one : updates_) {
      const int64_t begin = (one.param - first.param) / kFlatAlignment;
      const int64_t count = (one.n + kFlatAlignment - 1) / kFlatAlignment;
      std::fill_n(table.begin() + begin, count, one.decay);
    }
    table_.CopyFrom(Tensor({chunks}, table));
  }
  LaunchFlatMomentumSgd(chunks * kFlatAlignment, kFlatAlignment, table_.data<float>(),
                        step_of(first), context_.stream());
}

REGISTER_CUDA_OPERATOR(MultiMomentumSGDUpdate, MultiMomentumSgdOp<CUDAContext>);

}  // namespace caffe2
