#include "caffe2/cuda/kernel.h"
#include "operators/optimizer/multi_update_kernels.h"

namespace caffe2 {
namespace {

using cuda::Narrow;
using cuda::Pack;

// A thread handles N contiguous elements in each turn. Copy is the type of the copy (float: no
// copy), Grad the type of the gradients. Chunk i of `chunk` turns decays by decays[i]; without
// decays, all elements decay by `decay`.
template <class Rule, typename Copy, typename Grad, int N>
__global__ void UpdateKernel(int64_t packs, int64_t chunk, const float* decays, float decay,
                             BlockUpdate<Rule> u) {
  using Floats = Pack<float, N>;
  constexpr int kStates = Rule::kStates;
  const bool skip = u.found_inf != nullptr && *u.found_inf != 0;
  const float scale = u.scale != nullptr ? *u.scale : 1.f;
  const UpdateScalars scalars{u.lr(), u.correction()};
  for (int64_t i = cuda::GlobalThread(); i < packs; i += cuda::GlobalThreads()) {
    const auto g = static_cast<const Pack<Grad, N>*>(u.grad)[i];
    Floats p = reinterpret_cast<const Floats*>(u.param)[i], states[kStates];
#pragma unroll
    for (int s = 0; s < kStates; ++s) states[s] = reinterpret_cast<const Floats*>(u.state[s])[i];
    const WithScaledGradient<WithWeightDecay<Rule>> rule{
        {u.rule, decays != nullptr ? decays[i / chunk] : decay}, scale};
    if (!skip) {
#pragma unroll
      for (int k = 0; k < N; ++k) {
        float state[kStates];
#pragma unroll
        for (int s = 0; s < kStates; ++s) state[s] = states[s].v[k];
        p.v[k] = rule.Update(scalars, cuda::Widen(g.v[k]), p.v[k], state).param;
#pragma unroll
        for (int s = 0; s < kStates; ++s) states[s].v[k] = state[s];
      }
    }
#pragma unroll
    for (int s = 0; s < kStates; ++s) reinterpret_cast<Floats*>(u.state_out[s])[i] = states[s];
    reinterpret_cast<Floats*>(u.param_out)[i] = p;
    if constexpr (!std::is_same_v<Copy, float>) {
      Pack<Copy, N> copy;
#pragma unroll
      for (int k = 0; k < N; ++k) copy.v[k] = Narrow<Copy>(p.v[k]);
      reinterpret_cast<Pack<Copy, N>*>(u.copy)[i] = copy;
    }
  }
}

template <int N, class Rule>
void Launch(int64_t n, int64_t chunk, const float* decays, float decay,
            const BlockUpdate<Rule>& update, cuda::Stream stream) {
  if (n == 0) return;
  const int64_t packs = n / N;
  const auto launch = [&](auto kernel) {
    cuda::Launch("MultiUpdate", kernel, cuda::BlocksFor(packs), cuda::kThreads, stream, packs,
                 chunk / N, decays, decay, update);
  };
  const auto with_copy = [&](auto zero) {
    using Narrow = decltype(zero);
    update.grad_type == Number::kFloat ? launch(UpdateKernel<Rule, Narrow, float, N>)
                                       : launch(UpdateKernel<Rule, Narrow, Narrow, N>);
  };
  if (update.copy != nullptr) {
    update.copy_type == Number::kFloat16 ? with_copy(float16()) : with_copy(bfloat16());
  } else if (update.grad_type == Number::kFloat) {
    launch(UpdateKernel<Rule, float, float, N>);
  } else if (update.grad_type == Number::kFloat16) {
    launch(UpdateKernel<Rule, float, float16, N>);
  } else {
    launch(UpdateKernel<Rule, float, bfloat16, N>);
  }
}

}  // namespace

template <class Rule>
void LaunchUpdate(int64_t n, float decay, const BlockUpdate<Rule>& update, cuda::Stream stream) {
  Launch<1>(n, n, nullptr, decay, update, stream);
}
template <class Rule>
void LaunchFlatUpdate(int64_t n, int64_t chunk, const float* decays,
                      const BlockUpdate<Rule>& update, cuda::Stream stream) {
  Launch<4>(n, chunk, decays, 0.f, update, stream);
}

#define INSTANTIATE(Rule)                                                                  \
  template void LaunchUpdate(int64_t, float, const BlockUpdate<Rule>&, cuda::Stream);      \
  template void LaunchFlatUpdate(int64_t, int64_t, const float*, const BlockUpdate<Rule>&, \
                                 cuda::Stream)
INSTANTIATE(MomentumSgdRule);
INSTANTIATE(AdamRule);
INSTANTIATE(AdagradRule);
INSTANTIATE(RmsPropRule);

}  // namespace caffe2
