#include "caffe2/cuda/kernel.h"
#include "operators/optimizer_kernels.h"

namespace caffe2 {
namespace {

__device__ inline float ValueOf(const Rate& rate) {
  return rate.address != nullptr ? *rate.address : rate.value;
}

}  // namespace

// m' = momentum m + lr g; the step is m', or with Nesterov (1 + momentum) m' - momentum m.
void LaunchMomentumSgd(int64_t n, const MomentumSgdStep& update, cuda::Stream stream) {
  const MomentumSgdStep u = update;
  cuda::ForEach("MomentumSGD", n, stream, [=] __device__(int64_t i) {
    const float old = u.moment[i];
    const float next = u.momentum * old + ValueOf(u.lr) * u.grad[i];
    const float step = u.nesterov ? (1 + u.momentum) * next - u.momentum * old : next;
    u.moment_out[i] = next;
    u.grad_out[i] = step;
    if (u.param != nullptr) u.param_out[i] = u.param[i] - step;
  });
}

void LaunchAdam(int64_t n, const AdamStep& update, cuda::Stream stream) {
  const AdamStep u = update;
  cuda::ForEach("Adam", n, stream, [=] __device__(int64_t i) {
    const float g = u.grad[i];
    const float first = u.beta1 * u.moment1[i] + (1 - u.beta1) * g;
    const float second = u.beta2 * u.moment2[i] + (1 - u.beta2) * g * g;
    const float step = u.correction * first / (sqrtf(second) + u.epsilon);
    u.moment1_out[i] = first;
    u.moment2_out[i] = second;
    if (u.grad_out != nullptr) u.grad_out[i] = step;
    u.param_out[i] = u.param[i] + ValueOf(u.lr) * step;
  });
}

void LaunchAdagrad(int64_t n, const AdagradStep& update, cuda::Stream stream) {
  const AdagradStep u = update;
  cuda::ForEach("Adagrad", n, stream, [=] __device__(int64_t i) {
    const float g = u.grad[i], lr = ValueOf(u.lr);
    const float next = u.decay * u.moment[i] + g * g;
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
    const float g = u.grad[i], old = u.mean_squares[i];
    const float mean_square = old + (1 - u.decay) * (g * g - old);
    const float step =
        u.momentum * u.moment[i] + ValueOf(u.lr) * g / sqrtf(u.epsilon + mean_square);
    u.mean_squares_out[i] = mean_square;
    u.moment_out[i] = step;
    u.grad_out[i] = step;
  });
}

}  // namespace caffe2
