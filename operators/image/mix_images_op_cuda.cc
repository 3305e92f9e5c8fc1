// MixImages on CUDA devices: it makes the same choices as on the CPU.
#include "caffe2/cuda/host_values.h"
#include "operators/common/host_device_cuda.h"
#include "operators/image/mix_images_op.h"

namespace caffe2 {

template <>
MixSource MixImagesOp<CUDAContext>::Draw(int64_t images, int64_t height, int64_t width) {
  const auto draw = [this, images, height, width] {
    choice_ = DrawMix(options_, images, height, width, &context_.random());
  };
  MixSource source;
  cuda::HostValues* values = cuda::RecordedHostValues();
  if (values == nullptr) {
    draw();
    source.choice = choice_;
    return source;
  }
  // The values are computed in this order, before each launch of the graph.
  source.shares = values->Add<MixChoice::Shares>([this, draw] {
    draw();
    return choice_.shares;
  });
  source.box = values->Add<MixChoice::Box>([this] { return choice_.box; });
  source.shift = values->Add<int64_t>([this] { return choice_.shift; });
  return source;
}

REGISTER_CUDA_OPERATOR(MixImages, MixImagesOp<CUDAContext>);

}  // namespace caffe2
