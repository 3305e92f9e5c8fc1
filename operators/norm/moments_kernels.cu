#include "operators/common/strided_kernel.h"
#include "operators/norm/moments_kernels.h"

namespace caffe2 {

template <typename T>
void LaunchMomentsGradient(const Strides& space, int64_t n, T share, const T* dfirst,
                           const T* dsecond, const T* x, const T* mean, T* dx,
                           cuda::Stream stream) {
  cuda::ForEach("MomentsGradient", n, stream, [=] __device__(int64_t i) {
    const int64_t j = Locate(space, i).at[1];
    const T distance = mean != nullptr ? x[i] - mean[j] : x[i];
    dx[i] = share * (dfirst[j] + 2 * distance * dsecond[j]);
  });
}

#define INSTANTIATE(T)                                                                             \
  template void LaunchMomentsGradient<T>(const Strides&, int64_t, T, const T*, const T*, const T*, \
                                         const T*, T*, cuda::Stream)
INSTANTIATE(float);
INSTANTIATE(double);

}  // namespace caffe2
