// Convolution on CUDA devices, by cuDNN. Bias, sum and Relu run in the same pass if cuDNN has an
// engine for them, else in one more pass.
#include "operators/conv/conv_op_cuda.h"

#include <functional>
#include <numeric>

#include "caffe2/cuda/fused_convolution.h"
#include "operators/activation/activation_types.h"
#include "operators/conv/conv_gradients_cuda.h"

namespace caffe2 {

void CheckConvInputs(const Tensor& x, const Tensor& filter) {
  CAFFE_ENFORCE(x.has_data() && filter.has_data(), "the input or the filter holds no data");
  CAFFE_ENFORCE(filter.dtype() == x.dtype() || filter.IsType<float>(),
                "the filter must be float or have the type of X: the filter is ",
                filter.dtype().name(), ", X ", x.dtype().name());
}

cuda::ConvProblem MakeCudaConvProblem(const ConvShape& shape, bool channels_last, TypeMeta type) {
  return {.x = shape.x.Logical(),
          .filter = shape.filter,
          .y = shape.y.Logical(),
          .stride = shape.window.stride,
          .dilation = shape.window.dilation,
          .pad_begin = shape.window.pad_begin,
          .pad_end = shape.window.pad_end,
          .channels_last = channels_last,
          .type = type};
}

PreparedConv::PreparedConv(const OperatorDef& def)
    : arguments_(ArgumentHelper(def)),
      float_gradients_(ArgumentHelper(def).GetSingleArgument<bool>("float_gradients", false)) {
  CAFFE_ENFORCE(!arguments_.global_pooling(),
                "a convolution does not take the argument global_pooling");
}

void PreparedConv::Prepare(const Tensor& x, const Tensor& filter) {
  CheckConvInputs(x, filter);
  if (x.sizes() == x_dims_ && filter.sizes() == filter_dims_ && x.dtype() == problem_.type) {
    return;
  }
  const ConvShape shape = ConvShape::Make(arguments_, x.sizes(), filter.sizes());
  x_dims_ = x.sizes();
  filter_dims_ = filter.sizes();
  y_dims_ = shape.y.ToDims(arguments_.order());
  problem_ = MakeCudaConvProblem(shape, arguments_.channels_last(), x.dtype());
  patches_ = FewChannelsConv::Make(problem_);
  y_channels_ = {shape.y.batch, shape.y.channels, shape.y.SpatialSize(),
                 arguments_.channels_last()};
}

namespace {

constexpr char kPatches[] = "patches of pixels";

int64_t BytesOf(const std::vector<int64_t>& dims, const cuda::ConvProblem& problem) {
  return std::accumulate(dims.begin(), dims.end(), static_cast<int64_t>(problem.type.itemsize()),
                         std::multiplies<>());
}

}  // namespace

CudnnOperands::CudnnOperands(const PreparedConv& conv, const void* x, const void* filter,
                             int device, cuda::Stream stream)
    : problem_(&conv.problem()), x_(x), filter_(filter) {
  if (!conv.patches()) return;
  problem_ = &conv.patches()->problem();
  if (x != nullptr) {
    x_patches_.emplace(BytesOf(problem_->x, *problem_), device, stream, kPatches);
    conv.patches()->LaunchImage(x, x_patches_->get(), stream);
    x_ = x_patches_->get();
  }
  if (filter != nullptr) {
    filter_patches_.emplace(BytesOf(problem_->filter, *problem_), device, stream, kPatches);
    conv.patches()->LaunchFilter(filter, filter_patches_->get(), stream);
    filter_ = filter_patches_->get();
  }
}

void FilterGradient(const PreparedConv& conv, const void* x, const void* dy, void* dfilter,
                    int device, cuda::Stream stream) {
  const CudnnOperands operands(conv, x, nullptr, device, stream);
  const auto convolve = [&](void* to) {
    ConvFilterGradient(operands.problem(), operands.x(), dy, to, device, stream);
  };
  if (!conv.patches()) return convolve(dfilter);
  const cuda::Scratch gradient(BytesOf(operands.problem().filter, operands.problem()), device,
                               stream, kPatches);
  convolve(gradient.get());
  conv.patches()->LaunchFilterGradient(gradient.get(), dfilter, stream);
}

namespace {

// The work on the convolution's result in the same pass, as on the CPU.
enum class Epilogue { kNone, kRelu, kSum, kSumRelu };

template <Epilogue kEpilogue>
class CudaConvOp final : public Operator<CUDAContext> {
 public:
  CudaConvOp(const OperatorDef& def, Workspace* ws)
      : Operator<CUDAContext>(def, ws),
        conv_(def),
        constant_filter_(GetSingleArgument<bool>("constant_filter", false)),
        has_bias_(InputSize() > (kSum ? 3 : 2)) {
    for (int i = 0; i < InputSize(); ++i) {
      CAFFE_ENFORCE(!IsInputOutputAlias(i, 0) || (kSum && i == InputSize() - 1), "input ", i,
                    " and the output are the same blob ", def.output(0));
    }
  }

  bool RunOnDevice() override {
    return ActivationTypes<CUDAContext>::Dispatch(this, Input(0).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &x = Input(0), &filter = Input(1);
    CheckBias(filter);
    conv_.Prepare(x, filter);
    if (kSum) CheckAccumulator(x);
    // Y may be the blob of Z: the convolution then goes to other memory first.
    Tensor apart(context_.device()), filter_copy(context_.device()), bias_copy(context_.device());
    const bool in_place = kSum && IsInputOutputAlias(InputSize() - 1, 0);
    const T* z = kSum && !in_place ? Input(InputSize() - 1).template data<T>() : nullptr;
    Tensor* y = Output(0);
    if (!in_place) y->Resize(conv_.y_dims());
    T* y_data = y->template mutable_data<T>();
    if (y->numel() == 0) return true;
    if (in_place) {
      apart.ResizeLike(*y);
      context_.Copy(y->numel(), y_data, apart.mutable_data<T>());
      z = apart.data<T>();
    }
    const T* filter_data =
        constant_filter_ ? KeptFilter<T>(filter) : As<T>(filter, &filter_copy, &context_);
    const T* bias = has_bias_ ? As<T>(Input(2), &bias_copy, &context_) : nullptr;
    const CudnnOperands in(conv_, x.data<T>(), filter_data, context_.device_id(),
                           context_.stream());
    if (has_bias_ && cuda::ConvolveWithBias(in.problem(), in.x(), in.filter(), bias, z, kRelu,
                                            y_data, context_.device_id(), context_.stream())) {
      return true;
    }
    cuda::Convolve(cuda::ConvDirection::kForward, in.problem(), in.x(), in.filter(), nullptr,
                   y_data, context_.device_id(), context_.stream());
    if (!has_bias_ && kEpilogue == Epilogue::kNone) return true;
    LaunchChannelEpilogue(conv_.y_channels(), bias, z, kRelu, y_data, context_.stream());
    return true;
  }

 private:
  static constexpr bool kSum = kEpilogue == Epilogue::kSum || kEpilogue == Epilogue::kSumRelu;
  static constexpr bool kRelu = kEpilogue == Epilogue::kRelu || kEpilogue == Epilogue::kSumRelu;

  void CheckBias(const Tensor& filter) {
    if (!has_bias_) return;
    const Tensor& bias = Input(2);
    CAFFE_ENFORCE(bias.has_data() && bias.dim() == 1 && bias.size(0) == filter.size(0),
                  "the bias must have one value for each filter: the bias is ", bias.DebugString(),
                  ", the filter ", filter.DebugString());
  }
  void CheckAccumulator(const Tensor& x) {
    const Tensor& z = Input(InputSize() - 1);
    CAFFE_ENFORCE(z.sizes() == conv_.y_dims(), "Z must have the shape of Y, ",
                  ShapeString(conv_.y_dims()), "; found ", ShapeString(z.sizes()));
    CAFFE_ENFORCE(z.dtype() == x.dtype(), "Z must have the type of X: Z is ", z.dtype().name(),
                  ", X ", x.dtype().name());
  }

  // As<T>, done once for each place that filters lie in.
  template <typename T>
  const T* KeptFilter(const Tensor& filter) {
    if (filter.IsType<T>()) return filter.data<T>();
    if (kept_from_ != filter.raw_data() || !kept_filter_.IsType<T>() ||
        kept_filter_.sizes() != filter.sizes()) {
      As<T>(filter, &kept_filter_, &context_);
      kept_from_ = filter.raw_data();
    }
    return kept_filter_.template data<T>();
  }

  PreparedConv conv_;
  const bool constant_filter_;
  const bool has_bias_;
  Tensor kept_filter_{context_.device()};
  const void* kept_from_ = nullptr;
};

using Conv = CudaConvOp<Epilogue::kNone>;
REGISTER_CUDA_OPERATOR(Conv, Conv);
REGISTER_CUDA_OPERATOR(Conv1D, Conv);
REGISTER_CUDA_OPERATOR(Conv2D, Conv);
REGISTER_CUDA_OPERATOR(Conv3D, Conv);
REGISTER_CUDA_OPERATOR(ConvRelu, CudaConvOp<Epilogue::kRelu>);
REGISTER_CUDA_OPERATOR(ConvSum, CudaConvOp<Epilogue::kSum>);
REGISTER_CUDA_OPERATOR(ConvSumRelu, CudaConvOp<Epilogue::kSumRelu>);

}  // namespace
}  // namespace caffe2
