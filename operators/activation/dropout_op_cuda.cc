// Dropout on CUDA devices: it drops the same elements as on the CPU.
#include "caffe2/cuda/host_values.h"
#include "operators/activation/dropout_kernels.h"
#include "operators/activation/dropout_op.h"
#include "operators/common/host_device_cuda.h"

namespace caffe2 {

template <>
template <typename T>
void DropoutOp<CUDAContext>::Drop(int64_t n, const T* x, uint64_t bound, bool* keep, T* y) {
  RandomGenerator& random = context_.random();
  const auto take = [&random, n] {
    const uint64_t position = random.position();
    random.set_position(position + n);
    return position;
  };
  RandomPlace place{random.seed()};
  if (cuda::HostValues* values = cuda::RecordedHostValues()) {
    place.address = values->Add<uint64_t>(take);
  } else {
    place.position = take();
  }
  LaunchDropout(n, x, place, bound, scale(), keep, y, context_.stream());
}

REGISTER_CUDA_OPERATOR(Dropout, DropoutOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(DropoutGrad, DropoutGradientOp<CUDAContext>);

}  // namespace caffe2
