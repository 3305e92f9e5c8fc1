#include "operators/conv/conv_gradients_cuda.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "caffe2/core/tensor.h"
#include "caffe2/cuda/scratch.h"
#include "operators/common/host_device_launch.h"
#include "operators/conv/padded_images_functions.h"

namespace caffe2 {
namespace {

using cuda::ConvProblem;

bool HasUnevenStrides(const ConvProblem& problem) {
  const std::vector<int64_t>& stride = problem.stride;
  return std::adjacent_find(stride.begin(), stride.end(), std::not_equal_to<>()) != stride.end();
}
bool HasUnevenPadding(const ConvProblem& problem) { return problem.pad_begin != problem.pad_end; }

// The convolution of padded images, without padding. Pixels that no window reaches are left out.
ConvProblem OfPaddedImages(const ConvProblem& problem) {
  ConvProblem result = problem;
  for (size_t a = 0; a < problem.stride.size(); ++a) {
    const int64_t window = problem.dilation[a] * (problem.filter[a + 2] - 1) + 1;
    result.x[a + 2] = (problem.y[a + 2] - 1) * problem.stride[a] + window;
    result.pad_begin[a] = result.pad_end[a] = 0;
  }
  return result;
}

int64_t BytesOfImages(const ConvProblem& problem) {
  return CheckedNumel(problem.x) * static_cast<int64_t>(sizeof(float));
}

PaddedImages LayoutOf(const ConvProblem& problem, const ConvProblem& padded) {
  PaddedImages layout{.size = {1, 1, 1},
                      .padded_size = {1, 1, 1},
                      .begin = {0, 0, 0},
                      .inner = problem.channels_last ? problem.x[1] : 1};
  for (size_t a = 0; a < problem.stride.size(); ++a) {
    layout.size[a] = problem.x[a + 2];
    layout.padded_size[a] = padded.x[a + 2];
    layout.begin[a] = problem.pad_begin[a];
  }
  return layout;
}

}  // namespace

void ConvInputGradient(const ConvProblem& problem, const void* filter, const void* dy, void* dx,
                       int device, cuda::Stream stream, bool add) {
  constexpr auto kDirection = cuda::ConvDirection::kBackwardData;
  if (!problem.type.Match<float>() || !(HasUnevenPadding(problem) || HasUnevenStrides(problem))) {
    cuda::Convolve(kDirection, problem, nullptr, filter, dy, dx, device, stream, add);
    return;
  }
  const ConvProblem padded = OfPaddedImages(problem);
  const cuda::Scratch gradient(BytesOfImages(padded), device, stream,
                               "the gradient of padded images");
  cuda::Convolve(kDirection, padded, nullptr, filter, dy, gradient.get(), device, stream);
  const CopyFromPadded copy{.layout = LayoutOf(problem, padded),
                            .add = add,
                            .padded = static_cast<const float*>(gradient.get()),
                            .x = static_cast<float*>(dx)};
  LaunchForEach(CheckedNumel(problem.x), copy, stream);
}

void ConvFilterGradient(const ConvProblem& problem, const void* x, const void* dy, void* dfilter,
                        int device, cuda::Stream stream) {
  constexpr auto kDirection = cuda::ConvDirection::kBackwardFilter;
  if (!problem.type.Match<float>() || !HasUnevenPadding(problem)) {
    cuda::Convolve(kDirection, problem, x, nullptr, dy, dfilter, device, stream);
    return;
  }
  const ConvProblem padded = OfPaddedImages(problem);
  const cuda::Scratch images(BytesOfImages(padded), device, stream, "padded images");
  const CopyIntoPadded copy{.layout = LayoutOf(problem, padded),
                            .x = static_cast<const float*>(x),
                            .padded = static_cast<float*>(images.get())};
  LaunchForEach(CheckedNumel(padded.x), copy, stream);
  cuda::Convolve(kDirection, padded, images.get(), nullptr, dy, dfilter, device, stream);
}

}  // namespace caffe2
