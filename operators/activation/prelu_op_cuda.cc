#include "caffe2/cuda/context_cuda.h"
#include "operators/activation/prelu_op.h"
#include "operators/norm/normalization_kernels.h"

namespace caffe2 {

template <>
template <typename T>
bool PReluOp<CUDAContext>::DoRunWithType() {
  const Tensor &x = Input(0), &slope = Input(1);
  const Sizes s = GetSizes(x, slope);
  Tensor* y = Output(0);
  if (y != &x) y->ResizeLike(x);
  LaunchPRelu({s.outer, s.channels, s.inner}, x.data<T>(), slope.data<float>(),
              y->mutable_data<T>(), context_.stream());
  return true;
}

template <>
template <typename T>
bool PReluGradientOp<CUDAContext>::DoRunWithType() {
  const Tensor &x = Input(1), &slope = Input(2), &dy = Input(3);
  const Sizes s = GetSizes(x, slope);
  CAFFE_ENFORCE_EQ(dy.numel(), x.numel(), "gradient ", ShapeString(dy.sizes()), " for X ",
                   ShapeString(x.sizes()));
  const AcrossChannels layout{s.outer, s.channels, s.inner};
  Tensor scratch(context_.device());
  scratch.Resize(PReluScratch(layout));
  Output(0)->ResizeLike(x);
  Output(1)->ResizeLike(slope);
  LaunchPReluGradient(layout, x.data<T>(), slope.data<float>(), dy.data<T>(),
                      scratch.mutable_data<double>(), Output(0)->mutable_data<T>(),
                      Output(1)->mutable_data<float>(), context_.stream());
  return true;
}

REGISTER_CUDA_OPERATOR(PRelu, PReluOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(PReluGradient, PReluGradientOp<CUDAContext>);

}  // namespace caffe2
