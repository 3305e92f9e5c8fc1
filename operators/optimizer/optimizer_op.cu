#include "caffe2/cuda/kernel.h"
#include "operators/common/portable_kernel.h"
#include "operators/optimizer/global_rate_functions.h"
#include "operators/optimizer/optimizer_functions.h"
#include "operators/optimizer/optimizer_kernels.h"

namespace caffe2 {
namespace {

using cuda::Narrow;
using cuda::Widen;

__device__ inline bool IsSet(const float* flag) { return flag != nullptr && *flag != 0; }

struct Moved {
  float moment, step;
};
template <typename T>
__device__ inline Moved Move(const MomentumSgdStep<T>& u, float lr, float g, float old) {
  if (IsSet(u.found_inf)) return {old, 0.f};
  const float next = u.momentum * old + lr * g;
  return {next, u.a * next + u.b * old};
}

}  // namespace

template <typename T>
void LaunchMomentumSgd(int64_t n, const MomentumSgdStep<T>& update, cuda::Stream stream) {
  const MomentumSgdStep<T> u = update;
  cuda::ForEach("MomentumSGD", n, stream, [=] __device__(int64_t i) {
    const float p = u.param != nullptr ? Widen(u.param[i]) : 0.f;
    const float g = Widen(u.grad[i]) + u.weight_decay * p;
    const Moved moved = Move(u, u.lr(), g, Widen(u.moment[i]));
    u.moment_out[i] = Narrow<T>(moved.moment);
    if (u.grad_out != nullptr) u.grad_out[i] = Narrow<T>(moved.step);
    if (u.param != nullptr) u.param_out[i] = Narrow<T>(p - moved.step);
  });
}
template void LaunchMomentumSgd(int64_t, const MomentumSgdStep<float>&, cuda::Stream);
template void LaunchMomentumSgd(int64_t, const MomentumSgdStep<float16>&, cuda::Stream);

void LaunchAdam(int64_t n, const AdamStep& update, cuda::Stream stream) {
  const AdamStep u = update;
  cuda::ForEach("Adam", n, stream, [=] __device__(int64_t i) {
    const float g = u.grad[i];
    const float old1 = u.moment1[i], old2 = u.moment2[i];
    const bool skip = IsSet(u.found_inf);
    const float first = skip ? old1 : u.beta1 * old1 + (1 - u.beta1) * g;
    const float second = skip ? old2 : u.beta2 * old2 + (1 - u.beta2) * g * g;
    const float step = skip ? 0.f : u.correction() * first / (sqrtf(second) + u.epsilon);
    u.moment1_out[i] = first;
    u.moment2_out[i] = second;
    if (u.grad_out != nullptr) u.grad_out[i] = step;
    u.param_out[i] = u.param[i] + u.lr() * step;
  });
}

void LaunchAdagrad(int64_t n, const AdagradStep& update, cuda::Stream stream) {
  const AdagradStep u = update;
  cuda::ForEach("Adagrad", n, stream, [=] __device__(int64_t i) {
    const bool skip = IsSet(u.found_inf);
    const float slope = u.grad[i] + u.weight_decay * u.param[i];
    const float g = skip ? 0.f : slope, lr = u.lr(), old = u.moment[i];
    const float next = skip ? old : u.decay * old + g * g;
    const float rate = lr / (sqrtf(next) + u.epsilon);
    u.moment_out[i] = next;
    u.param_out[i] = u.param[i] + lr * g / (sqrtf(next) + u.epsilon);
    if (u.rate_out != nullptr) u.rate_out[i] = rate;
    if (u.update_out != nullptr) u.update_out[i] = rate * g;
  });
}

void LaunchRmsProp(int64_t n, const RmsPropStep& update, cuda::Stream stream) {
  const RmsPropStep u = update;
  cuda::ForEach("RmsProp", n, stream, [=] __device__(int64_t i) {
    const bool skip = IsSet(u.found_inf);
    const float g = u.grad[i], old = u.mean_squares[i], last = u.moment[i];
    const float mean_square = skip ? old : old + (1 - u.decay) * (g * g - old);
    const float step = u.momentum * last + u.lr() * g / sqrtf(u.epsilon + mean_square);
    u.mean_squares_out[i] = mean_square;
    u.moment_out[i] = skip ? last : step;
    u.grad_out[i] = skip ? 0.f : step;
  });
}

INSTANTIATE_FOR_EACH(FtrlElements);
INSTANTIATE_FOR_EACH(AdadeltaElements);
INSTANTIATE_FOR_EACH(DecayAdagradElements);
INSTANTIATE_FOR_EACH(LarsFactor);
INSTANTIATE_FOR_EACH(StormStep);
INSTANTIATE_FOR_EACH(StormElements);
INSTANTIATE_FOR_EACH(WngradStep);
INSTANTIATE_FOR_EACH(WngradElements);
INSTANTIATE_FOR_EACH(GFtrlColumns);
INSTANTIATE_MAP(ScaleElements, float);
template void LaunchMap(const MoveTowards&, int64_t, cuda::Stream, float*, const float*,
                        const float*);
INSTANTIATE_FOR_EACH_REAL(ClipByScaling);

}  // namespace caffe2
