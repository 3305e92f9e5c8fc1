#include "operators/conv/input_gradient_cuda.h"

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

bool NeedsPaddedImages(const ConvProblem& problem) {
  const std::vector<int64_t>& stride = problem.stride;
  return problem.type.Match<float>() &&
         (problem.pad_begin != problem.pad_end ||
          std::adjacent_find(stride.begin(), stride.end(), std::not_equal_to<>()) != stride.end());
}

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

CopyFromPadded CopyOf(const ConvProblem& problem, const ConvProblem& padded) {
  CopyFromPadded copy{.size = {1, 1, 1},
                      .padded_size = {1, 1, 1},
                      .begin = {0, 0, 0},
                      .inner = problem.channels_last ? problem.x[1] : 1,
                      .add = false,
                      .padded = nullptr,
                      .x = nullptr};
  for (size_t a = 0; a < problem.stride.size(); ++a) {
    copy.size[a] = problem.x[a + 2];
    copy.padded_size[a] = padded.x[a + 2];
    copy.begin[a] = problem.pad_begin[a];
  }
  return copy;
}

}  // namespace

void ConvInputGradient(const ConvProblem& problem, const void* filter, const void* dy, void* dx,
                       int device, cuda::Stream stream, bool add) {
  constexpr auto kDirection = cuda::ConvDirection::kBackwardData;
  if (!NeedsPaddedImages(problem)) {
    cuda::Convolve(kDirection, problem, nullptr, filter, dy, dx, device, stream, add);
    return;
  }
  const ConvProblem padded = OfPaddedImages(problem);
  const auto bytes = CheckedNumel(padded.x) * static_cast<int64_t>(sizeof(float));
  const cuda::Scratch gradient(bytes, device, stream, "the gradient of padded images");
  cuda::Convolve(kDirection, padded, nullptr, filter, dy, gradient.get(), device, stream);
  CopyFromPadded copy = CopyOf(problem, padded);
  copy.add = add;
  copy.padded = static_cast<const float*>(gradient.get());
  copy.x = static_cast<float*>(dx);
  LaunchForEach(CheckedNumel(problem.x), copy, stream);
}

}  // namespace caffe2
