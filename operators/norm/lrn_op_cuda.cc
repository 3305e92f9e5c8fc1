// LRN and its gradient on CUDA devices. cuDNN's LRN is not part of its graph interface and has no
// output for the scale. These kernels move no more memory than it does.
#include "caffe2/cuda/context_cuda.h"
#include "operators/norm/lrn_op.h"
#include "operators/norm/normalization_kernels.h"

namespace caffe2 {

template <>
template <typename T>
bool LrnOp<CUDAContext>::DoRunWithType() {
  const Tensor& x = Input(0);
  const Layout l = GetLayout(x);
  Output(0)->ResizeLike(x);
  T* scale = nullptr;
  if (OutputSize() > 1) {
    Output(1)->ResizeLike(x);
    scale = Output(1)->mutable_data<T>();
  }
  LaunchLrn({l.outer, l.channels, l.inner}, {size_, alpha_, beta_, bias_}, x.data<T>(),
            Output(0)->mutable_data<T>(), scale, context_.stream());
  return true;
}

template <>
template <typename T>
bool LrnGradientOp<CUDAContext>::DoRunWithType() {
  const Tensor &x = Input(0), &y = Input(1), &dy = Input(2);
  const Layout l = GetLayout(x);
  CAFFE_ENFORCE(y.numel() == x.numel() && dy.numel() == x.numel(),
                "Y and dY must have as many elements as X: Y has shape ", ShapeString(y.sizes()),
                ", dY ", ShapeString(dy.sizes()), ", X ", ShapeString(x.sizes()));
  Tensor scratch(context_.device());
  scratch.ResizeLike(x);
  Output(0)->ResizeLike(x);
  LaunchLrnGradient({l.outer, l.channels, l.inner}, {size_, alpha_, beta_, bias_}, x.data<T>(),
                    y.data<T>(), dy.data<T>(), scratch.mutable_data<float>(),
                    Output(0)->mutable_data<T>(), context_.stream());
  return true;
}

REGISTER_CUDA_OPERATOR(LRN, LrnOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(LRNGradient, LrnGradientOp<CUDAContext>);

}  // namespace caffe2
