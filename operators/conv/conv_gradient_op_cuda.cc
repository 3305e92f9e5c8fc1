// The gradients of convolutions on CUDA devices, by cuDNN.
#include <optional>

#include "operators/activation/activation_types.h"
#include "operators/conv/conv_op_cuda.h"
#include "operators/conv/input_gradient_cuda.h"

namespace caffe2 {
namespace {

// X, filter, dY, [S] -> dfilter, [dbias], [dX].
class CudaConvGradientOp final : public Operator<CUDAContext> {
 public:
  CudaConvGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<CUDAContext>(def, ws),
        conv_(def),
        no_bias_(GetSingleArgument<bool>("no_bias", false)),
        input_gradient_(OutputSize() > (no_bias_ ? 1 : 2)),
        adds_(InputSize() > 3) {
    CAFFE_ENFORCE(OutputSize() >= (no_bias_ ? 1 : 2) && OutputSize() <= (no_bias_ ? 2 : 3),
                  "there must be an output dfilter, ", no_bias_ ? "" : "an output dbias, ",
                  "and possibly an output dX; found ", OutputSize(), " outputs");
    if (adds_) CheckConvGradientAccumulator(*this, input_gradient_);
  }

  bool RunOnDevice() override {
    return ActivationTypes<CUDAContext>::Dispatch(this, Input(0).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &x = Input(0), &filter = Input(1), &dy = Input(2);
    CAFFE_ENFORCE(dy.has_data(), "an input of the gradient holds no data");
    CAFFE_ENFORCE(dy.dtype() == x.dtype(), "dY must have the type of X: dY is ", dy.dtype().name(),
                  ", X ", x.dtype().name());
    conv_.Prepare(x, filter);
    CAFFE_ENFORCE(dy.sizes() == conv_.y_dims(), "dY must have the shape of Y, ",
                  ShapeString(conv_.y_dims()), "; found ", ShapeString(dy.sizes()));
    Output(0)->ResizeLike(filter);
    ConvGradientResult<T> d_filter(Output(0), conv_.GradientType(filter));
    std::optional<BiasGradient<T>> d_bias;
    if (!no_bias_) d_bias.emplace(this, filter);
    if (conv_.empty()) {  // no elements: the gradients are 0
      for (int i = 0; i < (no_bias_ ? 1 : 2); ++i) {
        cuda::SetBytesAsync(Output(i)->raw_mutable_data(), 0, Output(i)->nbytes(),
                            context_.stream());
      }
      if (input_gradient_) InputGradient<T>(x, filter, dy);
      return true;
    }
    const int device = context_.device_id();
    const cuda::Stream stream = context_.stream();
    d_filter.Compute(device, stream, [&](T* to) {
      FilterGradient(conv_, x.data<T>(), dy.data<T>(), to, device, stream);
      return true;
    });
    if (d_bias) d_bias->Compute(conv_.layout(), dy.data<T>(), device, stream);
    if (input_gradient_) InputGradient<T>(x, filter, dy);
    return true;
  }

 private:
  template <typename T>
  class BiasGradient {
   public:
    BiasGradient(CudaConvGradientOp* op, const Tensor& filter)
        : result_(Resized(op->Output(1), filter.size(0)), op->conv_.GradientType(filter)) {}
    void Compute(const ChannelLayout& layout, const T* dy, int device, cuda::Stream stream) {
      const auto nbytes = static_cast<int64_t>(BatchNormScratch(layout) * sizeof(float));
      const cuda::Scratch sums(nbytes, device, stream, "sums for a bias");
      result_.Compute(device, stream, [&](T* to) {
        LaunchChannelSums(layout, dy, static_cast<float*>(sums.get()), to, stream);
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
    if (adds_) CheckConvGradientAccumulator(*dx, x);
    dx->ResizeLike(x);
    T* data = dx->mutable_data<T>();
    if (conv_.empty()) return;
    Tensor filter_copy(context_.device());
    ConvInputGradient(conv_.problem(), As<T>(filter, &filter_copy, &context_), dy.data<T>(), data,
                      context_.device_id(), context_.stream(), adds_);
  }

  PreparedConv conv_;
  const bool no_bias_;
  const bool input_gradient_;
  const bool adds_;  // to S, the blob of dX
};

REGISTER_CUDA_OPERATOR(ConvGradient, CudaConvGradientOp);
REGISTER_CUDA_OPERATOR(Conv1DGradient, CudaConvGradientOp);
REGISTER_CUDA_OPERATOR(Conv2DGradient, CudaConvGradientOp);
REGISTER_CUDA_OPERATOR(Conv3DGradient, CudaConvGradientOp);

}  // namespace
}  // namespace caffe2
