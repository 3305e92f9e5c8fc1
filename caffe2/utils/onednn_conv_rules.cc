// Which algorithm ConvAlgorithm::kAuto takes for a convolution.
#include <algorithm>

#include "caffe2/core/logging.h"
#include "caffe2/utils/filter_tiles.h"
#include "caffe2/utils/onednn_conv.h"
#include "caffe2/utils/onednn_conv_matmul.h"
#include "caffe2/utils/onednn_primitive.h"
#include "caffe2/utils/onednn_processor.h"
#include "caffe2/utils/onednn_winograd.h"
#include "caffe2/utils/pointwise_conv.h"
#include "caffe2/utils/row_conv.h"

namespace caffe2::onednn {
namespace {

// The fewest tiles of 4x4 results with which Winograd in float is faster than direct.
int64_t MinFloatTiles(int64_t channels, bool kept, ConvDirection direction) {
  static const bool onednn_has_winograd = DNNL_VERSION_MAJOR < 3 && HasAvx512();
  if (onednn_has_winograd) return kept ? 16 : 64;
  if (direction == ConvDirection::kBackwardFilter) return std::max<int64_t>(128, channels / 8);
  return std::max<int64_t>(kept ? 16 : 64, channels / 8);
}

// True if products of tiles (filter_tiles.h), where the processor has their instructions, compute
// the gradient of filters faster than oneDNN does.
bool PrefersTiles(const ConvProblem& problem) {
  // Measured on Zen 5, where tiles reach 0.8 to 0.95 of the peak and oneDNN 0.4 to 0.85. On Zen 4 a
  // slower kernel of our own was already faster than oneDNN with strides, small images and wide
  // filters. Panels of half a tile must be nearly full, each must be read for several tiles, and
  // there must be enough to do for two threads.
  constexpr int64_t kMinProducts = 1 << 22, kPart = kTileSide / 2;
  const int64_t filters = problem.filter[0], channels = problem.filter[1];
  const auto [few, many] = std::minmax(filters, channels);
  const int64_t taps = problem.filter[2] * problem.filter[3];
  const int64_t padding = (channels + kPart - 1) / kPart * kPart - channels;
  const int64_t pixels = problem.dst[0] * problem.dst[2] * problem.dst[3];
  return (taps == 1 || problem.stride[0] > 1 || problem.stride[1] > 1) && few >= kPart &&
         (few >= kTileSide || many >= 2 * kTileSide) && 8 * padding <= channels &&
         filters * channels * taps * pixels >= kMinProducts;
}

}  // namespace

bool PrefersWinograd(const ConvProblem& problem, ConvDirection direction) {
  const auto all = [](const std::vector<int64_t>& values, int64_t value) {
    return std::all_of(values.begin(), values.end(), [=](int64_t v) { return v == value; });
  };
  if (problem.stride.size() != 2 || problem.groups != 1 || problem.filter[2] != 3 ||
      problem.filter[3] != 3 || !all(problem.stride, 1) || !all(problem.dilation, 1)) {
    return false;
  }
  const int64_t channels = std::min(problem.filter[0], problem.filter[1]);
  const auto tiles = [&](int64_t size) {
    const int64_t down = (problem.dst[2] + size - 1) / size;
    const int64_t across = (problem.dst[3] + size - 1) / size;
    return problem.dst[0] * down * across;
  };
  // With few channels there is little to save. With few tiles transforming the filter does not pay;
  // if that is done once, reading it must.
  const bool kept = problem.constant_filter && direction == ConvDirection::kForward;
  if (problem.type.Match<float>()) {
    return channels >= 32 && tiles(4) >= MinFloatTiles(channels, kept, direction);
  }
  int64_t min_tiles = 256;
  if (kept) min_tiles = std::max<int64_t>(40, channels / 6);
  if (direction == ConvDirection::kBackwardFilter) min_tiles = 196;
  return WinogradSupports(problem) && !HasAmx() && channels >= 64 && tiles(2) >= min_tiles;
}

bool PrefersPatches(const ConvProblem& problem, ConvDirection direction) {
  if (direction == ConvDirection::kForward || problem.algorithm != ConvAlgorithm::kAuto ||
      !PatchesSupport(problem) || std::min(problem.filter[0], problem.filter[1]) < 32) {
    return false;
  }
  constexpr int64_t kSmallImage = 8 * 8;
  const int64_t pixels = problem.dst[2] * problem.dst[3];
  const int64_t taps = problem.filter[2] * problem.filter[3];
  const bool small = pixels <= kSmallImage;
  const bool pointwise = taps == 1;
  const bool strided = problem.stride[0] > 1 || problem.stride[1] > 1;
  if (problem.type.Match<float>()) {
    if (HasAvx512()) {
      return direction == ConvDirection::kBackwardFilter && !HasAmx() && PrefersTiles(problem);
    }
    const bool slow =
        strided || (small && (pointwise || direction == ConvDirection::kBackwardFilter));
    return slow && !PrefersWinograd(problem, direction);
  }
  if (!HasAmx()) {
    if (!HasPairInstruction()) return false;
    if (direction == ConvDirection::kBackwardFilter) return PrefersTiles(problem);
    return small && (pointwise || strided);  // measured on Zen 4
  }
  if (!(pointwise || strided || small)) return false;
  if (DNNL_VERSION_MAJOR >= 3) {
    LOG_FIRST_N(WARNING, 1)
        << "gradients of convolutions in bfloat16 use oneDNN 3's own kernels for "
           "AMX, not products over patches as with oneDNN 2";
    return false;
  }
  return true;
}

bool OneDnnMistakes(const ConvProblem& problem, ConvDirection direction) {
  constexpr int64_t kBlock = 16;  // of channels, which oneDNN pads
  const auto& filter = problem.filter;
  if (direction == ConvDirection::kForward || !problem.type.Match<bfloat16>() ||
      !problem.channels_last) {
    return false;
  }
  if (direction == ConvDirection::kBackwardFilter) {
    return problem.dst.back() == 1 && filter.back() > 1;
  }
  const bool pointwise =
      std::all_of(filter.begin() + 2, filter.end(), [](auto n) { return n == 1; });
  return pointwise && (filter[0] / problem.groups % kBlock != 0 || filter[1] % kBlock != 0);
}

bool PrefersPointwise(const ConvProblem& problem, ConvDirection direction) {
  // Measured on Zen 5.
  return problem.algorithm == ConvAlgorithm::kAuto && !HasAmx() &&
         PointwiseConv::Supports(problem, direction);
}

bool PrefersRows(const ConvProblem& problem, ConvDirection direction) {
  if (problem.algorithm != ConvAlgorithm::kAuto || !RowConv::Supports(problem, direction) ||
      !HasAvx512() || HasAmx() || PrefersWinograd(problem, direction)) {
    return false;
  }
  // Measured on Zen 4, where half a vector takes half the time; processors with AMX may differ.
  // oneDNN wastes no part of its vectors of 16 channels or filters if these are multiples of it.
  // Tiles of up to 9 pixels are computed whole.
  constexpr int64_t kLanes = 16, kMinImages = 16, kMaxChannels = 64, kMinPixels = 36;
  const int64_t channels = problem.src[1], filters = problem.filter[0];
  if (problem.src[0] < kMinImages || std::max(channels, filters) > kMaxChannels ||
      problem.filter[2] * problem.filter[3] == 1) {
    return false;
  }
  switch (direction) {
    case ConvDirection::kForward:
      return filters % kLanes != 0 && problem.dst[2] * problem.dst[3] >= kMinPixels;
    case ConvDirection::kBackwardData:
      return channels % kLanes != 0 && problem.src[2] * problem.src[3] >= kMinPixels;
    case ConvDirection::kBackwardFilter:
      return filters % kLanes != 0 || channels < 4;
  }
  return false;
}

}  // namespace caffe2::onednn
