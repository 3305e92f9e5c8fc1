// Shared by the CUDA classes of convolutions.
#pragma once

#include <optional>
#include <vector>

#include "caffe2/cuda/context_cuda.h"
#include "caffe2/cuda/convolution.h"
#include "caffe2/cuda/scratch.h"
#include "operators/common/channel_kernels.h"
#include "operators/conv/conv_op.h"
#include "operators/conv/few_channels_conv.h"
#include "operators/elementwise/elementwise_kernels.h"

namespace caffe2 {

// Throws EnforceNotMet unless both hold data and the filter is of X's type or float.
void CheckConvInputs(const Tensor& x, const Tensor& filter);
// The description of the convolution of images of `type` for cuDNN.
cuda::ConvProblem MakeCudaConvProblem(const ConvShape& shape, bool channels_last, TypeMeta type);

// The shapes of the last run, and values derived from them.
class PreparedConv {
 public:
  // Throws EnforceNotMet for arguments that a convolution does not take.
  explicit PreparedConv(const OperatorDef& def);
  // Throws EnforceNotMet, naming shapes, if input and filter do not fit the arguments.
  void Prepare(const Tensor& x, const Tensor& filter);

  const cuda::ConvProblem& problem() const { return problem_; }
  // The equivalent problem that is faster in cuDNN, if there is one.
  const std::optional<FewChannelsConv>& patches() const { return patches_; }
  const std::vector<int64_t>& y_dims() const { return y_dims_; }
  const ChannelShape& y_channels() const { return y_channels_; }  // of Y
  bool empty() const { return problem_.x[0] == 0; }
  // The type of the gradients of filter and bias: the filter's, or float (argument
  // float_gradients).
  TypeMeta GradientType(const Tensor& filter) const {
    return float_gradients_ ? TypeMeta::Make<float>() : filter.dtype();
  }

 private:
  const WindowArguments arguments_;
  const bool float_gradients_;
  std::vector<int64_t> x_dims_, filter_dims_, y_dims_;
  cuda::ConvProblem problem_;
  std::optional<FewChannelsConv> patches_;
  ChannelShape y_channels_;
};

// The operands that cuDNN gets: the operator's own arrays, or patches, which this object owns.
class CudnnOperands {
 public:
  // x and filter are arrays of conv.problem(), of its type; null if they are not read.
  CudnnOperands(const PreparedConv& conv, const void* x, const void* filter, int device,
                cuda::Stream stream);

  const cuda::ConvProblem& problem() const { return *problem_; }
  const void* x() const { return x_; }
  const void* filter() const { return filter_; }

 private:
  const cuda::ConvProblem* problem_;
  const void *x_, *filter_;
  std::optional<cuda::Scratch> x_patches_, filter_patches_;
};

// Writes the filter gradient, in the problem's type.
void FilterGradient(const PreparedConv& conv, const void* x, const void* dy, void* dfilter,
                    int device, cuda::Stream stream);

template <typename T>
constexpr Number kNumberOf = Number::kFloat;
template <>
inline constexpr Number kNumberOf<float16> = Number::kFloat16;
template <>
inline constexpr Number kNumberOf<bfloat16> = Number::kBFloat16;

// A filter or bias as T: the tensor itself, or a converted copy in `copy`.
template <typename T>
const T* As(const Tensor& tensor, Tensor* copy, CUDAContext* context) {
  if (tensor.IsType<T>()) return tensor.data<T>();
  copy->ResizeLike(tensor);
  T* converted = copy->mutable_data<T>();
  LaunchConvert(tensor.numel(), Number::kFloat, tensor.data<float>(), kNumberOf<T>, converted,
                context->stream());
  return converted;
}

// A gradient that is computed as T for an output of `type`: in the output itself, or in other
// memory from which it is then converted. The output must have its shape; the constructor allocates
// its memory.
template <typename T>
class ConvGradientResult {
 public:
  ConvGradientResult(Tensor* output, TypeMeta type) : output_(output) {
    output->raw_mutable_data(type);
  }

  // Calls compute(T*), which writes the gradient to that address in this stream. Returns the result
  // of compute; false means that there is no gradient.
  template <typename F>
  bool Compute(int device, cuda::Stream stream, const F& compute) {
    if (output_->IsType<T>()) return compute(output_->mutable_data<T>());
    const auto nbytes = static_cast<int64_t>(output_->numel() * sizeof(T));
    const cuda::Scratch apart(nbytes, device, stream, "memory for a gradient");
    if (!compute(static_cast<T*>(apart.get()))) return false;
    LaunchConvert(output_->numel(), kNumberOf<T>, apart.get(), Number::kFloat,
                  output_->mutable_data<float>(), stream);
    return true;
  }

 private:
  Tensor* output_;
};

}  // namespace caffe2
