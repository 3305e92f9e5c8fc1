// ConvTranspose and its gradient on CUDA devices, by cuDNN's convolutions with the roles of X and Y
// exchanged.
#include "caffe2/cuda/convolution.h"
#include "operators/common/channel_kernels.h"
#include "operators/common/host_device_op.h"
#include "operators/conv/conv_gradients_cuda.h"
#include "operators/conv/conv_op_cuda.h"
#include "operators/conv/conv_transpose_op.h"

namespace caffe2 {
namespace {

using cuda::ConvDirection;

// The memory for a result that is computed as T, for an output of T or float: the output itself, or
// other memory from which Finish converts.
template <typename T>
class ConvertedOutput {
 public:
  // `data` is the output's memory of `n` elements, of type `type`.
  ConvertedOutput(TypeMeta type, int64_t n, void* data, CUDAContext* context)
      : n_(n), data_(data), context_(context), apart_(context->device()) {
    if (type.Match<T>()) return;
    CAFFE_ENFORCE(type.Match<float>(), "cannot write results as ", type.name());
    apart_.Resize(n);
    apart_.mutable_data<T>();
    convert_ = true;
  }
  T* data() { return convert_ ? apart_.mutable_data<T>() : static_cast<T*>(data_); }
  void Finish() {
    if (!convert_) return;
    LaunchConvert(n_, kNumberOf<T>, apart_.data<T>(), Number::kFloat, data_, context_->stream());
  }

 private:
  const int64_t n_;
  void* const data_;
  CUDAContext* const context_;
  Tensor apart_;
  bool convert_ = false;
};

// The shapes of the last run and the convolution from Y to X.
class ConvTransposeBase : public Operator<CUDAContext> {
 public:
  ConvTransposeBase(const OperatorDef& def, Workspace* ws)
      : Operator<CUDAContext>(def, ws), arguments_(ArgumentHelper(debug_def())) {}
  bool RunOnDevice() override = 0;

 protected:
  void Prepare(const Tensor& x, const Tensor& filter) {
    CheckConvInputs(x, filter);
    if (x.sizes() == x_dims_ && filter.sizes() == filter_dims_ && x.dtype() == problem_.type) {
      return;
    }
    const ConvShape shape = MakeTransposedConvShape(arguments_, x.sizes(), filter.sizes());
    x_dims_ = x.sizes();
    filter_dims_ = filter.sizes();
    y_dims_ = shape.x.ToDims(arguments_.order());
    problem_ = MakeCudaConvProblem(shape, arguments_.channels_last(), x.dtype());
    y_channels_ = {shape.x.batch, shape.x.channels, shape.x.SpatialSize(),
                   arguments_.channels_last()};
  }

  // As cuda::Convolve, for the convolution from Y to X: `big` is Y and `small` is X.
  void Convolve(ConvDirection direction, const void* big, const void* filter, const void* small,
                void* result) {
    cuda::Convolve(direction, problem_, big, filter, small, result, context_.device_id(),
                   context_.stream());
  }

  const WindowArguments arguments_;
  std::vector<int64_t> x_dims_, filter_dims_, y_dims_;
  cuda::ConvProblem problem_;
  ChannelShape y_channels_;  // of Y
};

// X, filter, [bias] -> Y.
class CudaConvTransposeOp final : public ConvTransposeBase {
 public:
  using ConvTransposeBase::ConvTransposeBase;
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &x = Input(0), &filter = Input(1);
    Prepare(x, filter);
    Tensor* y = Output(0);
    y->Resize(y_dims_);
    T* y_data = y->template mutable_data<T>();
    if (y->numel() == 0) return true;
    Tensor filter_copy(context_.device()), bias_copy(context_.device());
    ConvInputGradient(problem_, As<T>(filter, &filter_copy, &context_), x.data<T>(), y_data,
                      context_.device_id(), context_.stream());
    if (InputSize() < 3) return true;
    const Tensor& bias = Input(2);
    CAFFE_ENFORCE(bias.numel() == y_channels_.channels,
                  "the bias must have one value for each of the ", y_channels_.channels,
                  " channels of Y, found ", bias.numel());
    LaunchChannelEpilogue<T>(y_channels_, As<T>(bias, &bias_copy, &context_), nullptr,
                             /*relu=*/false, y_data, context_.stream());
    return true;
  }
};

// X, filter, dY -> dfilter, [dbias], [dX].
class CudaConvTransposeGradientOp final : public ConvTransposeBase {
 public:
  CudaConvTransposeGradientOp(const OperatorDef& def, Workspace* ws)
      : ConvTransposeBase(def, ws), outputs_(ConvTransposeOutputs::Make(*this)) {}
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &x = Input(0), &filter = Input(1), &dy = Input(2);
    Prepare(x, filter);
    CAFFE_ENFORCE(dy.sizes() == y_dims_, "dY must have the shape of Y, ", ShapeString(y_dims_),
                  "; found ", ShapeString(dy.sizes()));
    const T* dy_data = dy.data<T>();
    FilterGradient<T>(x, filter, dy_data);
    if (outputs_.bias) BiasGradient<T>(dy_data);
    if (outputs_.input) {
      Tensor* dx = Output(OutputSize() - 1);
      dx->ResizeLike(x);
      T* dx_data = dx->template mutable_data<T>();
      if (dy.numel() == 0) return true;
      Tensor filter_copy(context_.device());
      Convolve(ConvDirection::kForward, dy_data, As<T>(filter, &filter_copy, &context_), nullptr,
               dx_data);
    }
    return true;
  }

 private:
  template <typename T>
  void FilterGradient(const Tensor& x, const Tensor& filter, const T* dy) {
    Tensor* output = Output(0);
    output->ResizeLike(filter);
    void* data = output->raw_mutable_data(filter.dtype());
    if (x.numel() == 0) {  // an empty batch: the gradients are 0
      cuda::SetBytesAsync(data, 0, output->nbytes(), context_.stream());
      return;
    }
    ConvertedOutput<T> gradient(filter.dtype(), filter.numel(), data, &context_);
    ConvFilterGradient(problem_, dy, x.data<T>(), gradient.data(), context_.device_id(),
                       context_.stream());
    gradient.Finish();
  }

  template <typename T>
  void BiasGradient(const T* dy) {
    Output(1)->Resize(y_channels_.channels);
    float* data = Output(1)->template mutable_data<float>();
    if (y_channels_.batch * y_channels_.spatial == 0) {
      cuda::SetBytesAsync(data, 0, Output(1)->nbytes(), context_.stream());
      return;
    }
    Tensor scratch(context_.device());
    scratch.Resize(BatchNormScratch(y_channels_));
    ConvertedOutput<T> sums(TypeMeta::Make<float>(), y_channels_.channels, data, &context_);
    LaunchChannelSums(y_channels_, dy, scratch.mutable_data<float>(), sums.data(),
                      context_.stream());
    sums.Finish();
  }

  const ConvTransposeOutputs outputs_;
};

REGISTER_CUDA_OPERATOR(ConvTranspose, CudaConvTransposeOp);
REGISTER_CUDA_OPERATOR(ConvTransposeGradient, CudaConvTransposeGradientOp);

}  // namespace
}  // namespace caffe2
