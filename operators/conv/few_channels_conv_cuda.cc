#include <limits>
#include <vector>

#include "caffe2/core/logging.h"
#include "caffe2/cuda/runtime.h"
#include "operators/common/host_device_launch.h"
#include "operators/conv/few_channels_conv.h"

namespace caffe2 {
namespace {

bool Applies(const cuda::ConvProblem& problem) {
  return problem.channels_last && problem.type.itemsize() == 2 && problem.x.size() == 4 &&
         problem.filter[1] == problem.x[1] && problem.x[1] <= FewChannelsConv::kMaxChannels &&
         problem.dilation == std::vector<int64_t>{1, 1};
}

int64_t RoundUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

}  // namespace

std::optional<FewChannelsConv> FewChannelsConv::Make(const cuda::ConvProblem& problem) {
  if (!Applies(problem)) return std::nullopt;
  const int64_t channels = problem.x[1], kernel = problem.filter[2], stride = problem.stride[0];
  const int64_t run = problem.filter[3] * channels;
  const bool whole = kernel * run <= kMaxDepth;  // a patch holds a window
  const int64_t rows = whole ? kernel : stride;
  const int64_t depth = RoundUp(rows * run, 8);
  const int64_t begin = whole ? problem.pad_begin[0] : RoundUp(problem.pad_begin[0], stride);
  const int64_t skip = begin - problem.pad_begin[0];
  const int64_t taps = (kernel + skip + rows - 1) / rows;
  const int64_t height = problem.y[2] + taps - 1, width = problem.y[3];
  if (depth > kMaxDepth) return std::nullopt;
  const int64_t bytes = problem.x[0] * height * width * depth * 2;
  const int64_t row = (problem.x[3] + problem.pad_begin[1] + problem.pad_end[1]) * channels;
  constexpr int64_t kMaxPixels = std::numeric_limits<int32_t>::max() / 2;  // of an axis
  if (bytes > kMaxBytes || row > kMaxPixels || problem.x[2] > kMaxPixels) {
    LOG(WARNING) << "slow: a convolution of few channels without patches, which would take "
                 << bytes << " bytes (" << problem.ToString() << ")";
    return std::nullopt;
  }
  const auto narrow = [](int64_t n) { return static_cast<int32_t>(n); };
  FewChannelsConv conv;
  conv.by_ = {.channels = narrow(channels),
              .rows = narrow(rows),
              .depth = narrow(depth),
              .taps = narrow(taps),
              .image = {narrow(problem.x[2]), narrow(problem.x[3])},
              .kernel = {narrow(kernel), narrow(problem.filter[3])},
              .size = {narrow(height), narrow(width)},
              .step = {narrow(stride), narrow(problem.stride[1])},
              .begin = {narrow(begin), narrow(problem.pad_begin[1])},
              .skip = narrow(skip)};
  conv.problem_ = problem;
  conv.problem_.x = {problem.x[0], depth, height, width};
  conv.problem_.filter = {problem.filter[0], depth, taps, 1};
  conv.problem_.stride = {1, 1};
  conv.problem_.pad_begin = conv.problem_.pad_end = {0, 0};
  conv.filter_elements_ = problem.filter[0] * kernel * run;
  return conv;
}

void FewChannelsConv::LaunchImage(const void* x, void* patches, cuda::Stream stream) const {
  const int64_t count = problem_.x[0] * by_.size[0] * by_.size[1] * by_.depth / 8;
  LaunchForEach(
      count,
      PatchesOfImage{by_, static_cast<const uint16_t*>(x), static_cast<EightWords*>(patches)},
      stream);
}

void FewChannelsConv::LaunchFilter(const void* filter, void* patches, cuda::Stream stream) const {
  const int64_t elements = problem_.filter[0] * by_.taps * by_.depth;
  cuda::SetBytesAsync(patches, 0, static_cast<size_t>(elements) * sizeof(uint16_t), stream);
  LaunchForEach(
      filter_elements_,
      FilterToPatches{by_, static_cast<const uint16_t*>(filter), static_cast<uint16_t*>(patches)},
      stream);
}

void FewChannelsConv::LaunchFilterGradient(const void* patches, void* filter,
                                           cuda::Stream stream) const {
  LaunchForEach(
      filter_elements_,
      FilterOfPatches{by_, static_cast<const uint16_t*>(patches), static_cast<uint16_t*>(filter)},
      stream);
}

}  // namespace caffe2
