#include "caffe2/cuda/runtime.h"
#include "operators/common/host_device_launch.h"
#include "operators/conv/space_to_depth_conv.h"

namespace caffe2 {
namespace {

bool Applies(const cuda::ConvProblem& problem) {
  const int64_t channels = problem.x[1];
  return problem.channels_last && problem.type.itemsize() == 2 && problem.x.size() == 4 &&
         problem.filter[1] == channels && (channels == 1 || channels == 3 || channels == 4) &&
         problem.stride[0] == problem.stride[1] && problem.stride[0] <= 2 &&
         problem.dilation == std::vector<int64_t>{1, 1};
}

template <int kChannels, int kStride>
void LaunchBlocks(const SpaceToDepth& by, int64_t count, const void* x, void* blocks,
                  cuda::Stream stream) {
  using Blocks = BlocksOfImage<kChannels, kStride>;
  const Blocks functor{by, static_cast<const uint16_t*>(x),
                       static_cast<typename Blocks::Words*>(blocks)};
  LaunchForEach(count, functor, stream);
}

}  // namespace

std::optional<SpaceToDepthConv> SpaceToDepthConv::Make(const cuda::ConvProblem& problem) {
  if (!Applies(problem)) return std::nullopt;
  SpaceToDepthConv conv;
  SpaceToDepth& by = conv.by_;
  by.channels = problem.x[1];
  by.stride = problem.stride[0];
  by.depth = (by.channels * by.stride * by.stride + 7) / 8 * 8;
  for (int axis = 0; axis < 2; ++axis) {
    const int64_t pad = problem.pad_begin[axis];
    by.size[axis] = problem.x[2 + axis];
    by.kernel[axis] = problem.filter[2 + axis];
    by.begin[axis] = (pad + by.stride - 1) / by.stride * by.stride;
    by.skip[axis] = by.begin[axis] - pad;
    by.taps[axis] = (by.kernel[axis] + by.skip[axis] + by.stride - 1) / by.stride;
    by.blocks[axis] = problem.y[2 + axis] + by.taps[axis] - 1;
  }
  conv.problem_ = problem;
  conv.problem_.x = {problem.x[0], by.depth, by.blocks[0], by.blocks[1]};
  conv.problem_.filter = {problem.filter[0], by.depth, by.taps[0], by.taps[1]};
  conv.problem_.stride = {1, 1};
  conv.problem_.pad_begin = conv.problem_.pad_end = {0, 0};
  conv.filter_elements_ = problem.filter[0] * by.channels * by.kernel[0] * by.kernel[1];
  return conv;
}

void SpaceToDepthConv::LaunchImage(const void* x, void* blocks, cuda::Stream stream) const {
  const int64_t count = problem_.x[0] * by_.blocks[0] * by_.blocks[1];
  const auto launch = by_.stride == 1 ? (by_.channels == 1   ? LaunchBlocks<1, 1>
                                         : by_.channels == 3 ? LaunchBlocks<3, 1>
                                                             : LaunchBlocks<4, 1>)
                                      : (by_.channels == 1   ? LaunchBlocks<1, 2>
                                         : by_.channels == 3 ? LaunchBlocks<3, 2>
                                                             : LaunchBlocks<4, 2>);
  launch(by_, count, x, blocks, stream);
}

void SpaceToDepthConv::LaunchFilter(const void* filter, void* blocks, cuda::Stream stream) const {
  const int64_t elements = problem_.filter[0] * by_.taps[0] * by_.taps[1] * by_.depth;
  cuda::SetBytesAsync(blocks, 0, static_cast<size_t>(elements) * sizeof(uint16_t), stream);
  LaunchForEach(filter_elements_,
                BlocksOfFilter{by_, static_cast<const uint16_t*>(filter),
                               static_cast<uint16_t*>(blocks)},
                stream);
}

void SpaceToDepthConv::LaunchFilterGradient(const void* blocks, void* filter,
                                            cuda::Stream stream) const {
  LaunchForEach(filter_elements_,
                FilterOfBlocks{by_, static_cast<const uint16_t*>(blocks),
                               static_cast<uint16_t*>(filter)},
                stream);
}

}  // namespace caffe2
