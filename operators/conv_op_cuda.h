// What the CUDA classes of convolutions share.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "caffe2/cuda/context_cuda.h"
#include "caffe2/cuda/convolution.h"
#include "caffe2/cuda/side_stream.h"
#include "operators/channel_kernels.h"
#include "operators/conv_op.h"
#include "operators/elementwise_kernels.h"

namespace caffe2 {

// Throws EnforceNotMet unless both hold data and the filter is of X's type or float.
void CheckConvInputs(const Tensor& x, const Tensor& filter);
// The convolution of images of `type` for cuDNN.
cuda::ConvProblem MakeCudaConvProblem(const ConvShape& shape, bool channels_last, TypeMeta type);

// The shapes of the last run, and what follows from them.
class PreparedConv {
 public:
  // Throws EnforceNotMet if the arguments are not those of a convolution.
  explicit PreparedConv(const OperatorDef& def);
  // Throws EnforceNotMet, naming shapes, if input and filter do not fit the arguments.
  void Prepare(const Tensor& x, const Tensor& filter);

  const cuda::ConvProblem& problem() const { return problem_; }
  const std::vector<int64_t>& y_dims() const { return y_dims_; }
  const ChannelLayout& layout() const { return layout_; }  // of Y
  bool empty() const { return problem_.x[0] == 0; }
  // Of the gradients of filter and bias: the filter's, or float (argument float_gradients).
  TypeMeta GradientType(const Tensor& filter) const {
    return float_gradients_ ? TypeMeta::Make<float>() : filter.dtype();
  }

 private:
  const WindowArguments arguments_;
  const bool float_gradients_;
  std::vector<int64_t> x_dims_, filter_dims_, y_dims_;
  cuda::ConvProblem problem_;
  ChannelLayout layout_;
};

template <typename T>
constexpr Number kNumberOf = Number::kFloat;
template <>
inline constexpr Number kNumberOf<float16> = Number::kFloat16;
template <>
inline constexpr Number kNumberOf<bfloat16> = Number::kBFloat16;

// A filter or bias as T: itself, or a converted copy in `copy`.
template <typename T>
const T* As(const Tensor& tensor, Tensor* copy, CUDAContext* context) {
  if (tensor.IsType<T>()) return tensor.data<T>();
  copy->ResizeLike(tensor);
  T* converted = copy->mutable_data<T>();
  LaunchConvert(tensor.numel(), Number::kFloat, tensor.data<float>(), kNumberOf<T>, converted,
                context->stream());
  return converted;
}

// Where a gradient is formed as T: in the output itself, which is of `type`, or in a tensor that is
// then converted into it. The output has its shape already; the memory is there when this is made.
template <typename T>
class ConvGradientResult {
 public:
  ConvGradientResult(Tensor* output, TypeMeta type, CUDAContext* context)
      : output_(output), apart_(context->device()) {
    output->raw_mutable_data(type);
    if (output->IsType<T>()) return;
    apart_.ResizeLike(*output);
    apart_.mutable_data<T>();
  }

  T* data() { return (output_->IsType<T>() ? output_ : &apart_)->template mutable_data<T>(); }
  // When data() is filled, in this stream.
  void Finish(cuda::Stream stream) {
    if (output_->IsType<T>()) return;
    LaunchConvert(output_->numel(), kNumberOf<T>, data(), Number::kFloat,
                  output_->mutable_data<float>(), stream);
  }

 private:
  Tensor* output_;
  Tensor apart_;
};

// The second stream of an operator with the argument side_stream, for the filter's gradient.
class FilterGradientStream {
 public:
  explicit FilterGradientStream(const OperatorDef& def) {
    if (!ArgumentHelper(def).GetSingleArgument<bool>("side_stream", false)) return;
    side_.emplace(ToDevice(def.device_option()).id);
  }
  // body(stream), which puts the filter's gradient into this stream and all else into the
  // context's.
  void Run(const CUDAContext& context, const std::function<void(cuda::Stream)>& body) {
    side_ ? side_->Run(body) : body(context.stream());
  }

 private:
  std::optional<cuda::SideStream> side_;
};

}  // namespace caffe2
