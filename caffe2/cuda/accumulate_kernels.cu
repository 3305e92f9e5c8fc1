#include "caffe2/cuda/accumulate_kernels.h"
#include "caffe2/cuda/kernel.h"

namespace caffe2::cuda {
namespace {

struct AddBoth {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return static_cast<T>(a + b);
  }
};
struct Times {
  float factor;
  template <typename T>
  __device__ T operator()(T x) const {
    return static_cast<T>(x * factor);
  }
};

}  // namespace

template <typename T>
void LaunchAccumulate(int64_t n, const T* x, T* sum, Stream stream) {
  Map("Accumulate", n, stream, AddBoth(), sum, static_cast<const T*>(sum), x);
}
template <typename T>
void LaunchScaleInPlace(int64_t n, float scale, T* x, Stream stream) {
  Map("ScaleInPlace", n, stream, Times{scale}, x, static_cast<const T*>(x));
}

#define INSTANTIATE(T) template void LaunchAccumulate<T>(int64_t, const T*, T*, Stream)
INSTANTIATE(float);
INSTANTIATE(double);
INSTANTIATE(float16);
INSTANTIATE(bfloat16);
INSTANTIATE(int32_t);
INSTANTIATE(int64_t);
INSTANTIATE(uint8_t);
#define INSTANTIATE_SCALE(T) template void LaunchScaleInPlace<T>(int64_t, float, T*, Stream)
INSTANTIATE_SCALE(float);
INSTANTIATE_SCALE(double);
INSTANTIATE_SCALE(float16);
INSTANTIATE_SCALE(bfloat16);

}  // namespace caffe2::cuda
