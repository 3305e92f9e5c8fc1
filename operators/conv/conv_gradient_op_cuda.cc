// The gradients of convolutions on CUDA devices, by cuDNN.
#include <optional>

#include "operators/activation/activation_types.h"
#include "operators/conv/conv_gradients_cuda.h"
#include "operators/conv/conv_op_cuda.h"

namespace caffe2 {
namespace {

// X, filter, dY, [S] -> dfilter, [dbias], [dX].
class CudaConvGradientOp final : public Operator<CUDAContext> {
 public:
  CudaConvGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<CUDAContext>(def, ws), conv_(def), outputs_(*this) {}

  bool RunOnDevice() override {
    return ActivationTypes<CUDAContext>::Dispatch(this, Input(0).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &x = Input(0), &filter = Input(1), &dy = Input(2);
    conv_.Prepare(x, filter);
    outputs_.CheckInputs(*this, conv_.y_dims());
    Output(0)->ResizeLike(filter);
    ConvGradientResult<T> d_filter(Output(0), conv_.GradientType(filter));
    std::optional<BiasGradient<T>> d_bias;
    if (!outputs_.no_bias) d_bias.emplace(this, filter);
    if (conv_.empty()) {  // no elements: the gradients are 0
      for (int i = 0; i < (outputs_.no_bias ? 1 : 2); ++i) {
        cuda::SetBytesAsync(Output(i)->raw_mutable_data(), 0, Output(i)->nbytes(),
                            context_.stream());
      }
      if (outputs_.input_gradient) InputGradient<T>(x, filter, dy);
      return true;
    }
    const int device = context_.device_id();
    const cuda::Stream stream = context_.stream();
    d_filter.Compute(device, stream, [&](T* to) {
      FilterGradient(conv_, x.data<T>(), dy.data<T>(), to, device, stream);
      return true;
    });
    if (d_bias) d_bias->Compute(conv_.y_channels(), dy.data<T>(), device, stream);
    if (outputs_.input_gradient) InputGradient<T>(x, filter, dy);
    return true;
  }

 private:
  template <typename T>
  class BiasGradient {
   public:
    BiasGradient(CudaConvGradientOp* op, const Tensor& filter)
        : result_(Resized(op->Output(1), filter.size(0)), op->conv_.GradientType(filter)) {}
    void Compute(const ChannelShape& shape, const T* dy, int device, cuda::Stream stream) {
      const auto nbytes = static_cast<int64_t>(BatchNormScratch(shape) * sizeof(float));
      const cuda::Scratch sums(nbytes, device, stream, "sums for a bias");
      result_.Compute(device, stream, [&](T* to) {
        LaunchChannelSums(shape, dy, static_cast<float*>(sums.get()), to, stream);
        return true;
      });
    }

   private:
    static Tensor* Resized(Tensor* output, int64_t n) {
      output->Resize(n);
      return output;
    }
    ConvGradientResult<T> result_;
  };

  template <typename T>
  void InputGradient(const Tensor& x, const Tensor& filter, const Tensor& dy) {
    Tensor* dx = Output(OutputSize() - 1);
    dx->ResizeLike(x);
    T* data = dx->mutable_data<T>();
    if (conv_.empty()) return;
    Tensor filter_copy(context_.device());
    ConvInputGradient(conv_.problem(), As<T>(filter, &filter_copy, &context_), dy.data<T>(), data,
                      context_.device_id(), context_.stream(), outputs_.adds);
  }

  PreparedConv conv_;
  const ConvGradientOutputs outputs_;
};

REGISTER_CUDA_OPERATOR(ConvGradient, CudaConvGradientOp);
REGISTER_CUDA_OPERATOR(Conv1DGradient, CudaConvGradientOp);
REGISTER_CUDA_OPERATOR(Conv2DGradient, CudaConvGradientOp);
REGISTER_CUDA_OPERATOR(Conv3DGradient, CudaConvGradientOp);

}  // namespace
}  // namespace caffe2
