// The transforms of Winograd's F(m x m, 3 x 3) (Lavin and Gray, "Fast algorithms for convolutional
// neural networks", 2016). Each function transforms one tile or one filter, for all its channels.
//
// A tile of m x m results needs (m + 2) x (m + 2) pixels of the input. A transformed tile or filter
// has as many numbers for each channel. They lie in planes, one for each position, so that a plane
// is a matrix of tiles (or filters) by channels. `plane` is the distance between planes in
// elements. Arithmetic is done in float; bfloat16 results are rounded once, and NaN stays NaN.
// Arrays must not overlap, except that pixels outside the image may share memory.
#pragma once

#include <cstdint>

#include "caffe2/core/half.h"
#include "caffe2/utils/bfloat16_pairs.h"

namespace caffe2 {

// The tile of a pixel type: m is 2 for bfloat16, which has too few bits for the larger factors of
// m = 4, and 4 for float.
template <typename Pixel>
struct WinogradTile {
  static constexpr int kOut = sizeof(Pixel) == sizeof(float) ? 4 : 2;
  static constexpr int kIn = kOut + 2;
  static constexpr int64_t kPlanes = kIn * kIn;
};

// Transforms the pixels of an input tile to planes: B^T d B.
void TransformInput(const float* const* pixels, int64_t channels, int64_t plane, float* to);

// Transforms the m x m pixels of a result's gradient to planes: A dY A^T.
void TransformOutputGradient(const float* const* pixels, int64_t channels, int64_t plane,
                             float* to);

// The same two for a multiple of kPanel channels. Planes hold strips of kPanel channels
// (float_panels.h), `strip` elements apart.
void TransformInputStrips(const float* const* pixels, int64_t channels, int64_t strip,
                          int64_t plane, float* to);
void TransformOutputGradientStrips(const float* const* pixels, int64_t channels, int64_t strip,
                                   int64_t plane, float* to);

// The same for bfloat16. Planes hold strips of kPanel channels (bfloat16_pairs.h), `strip` elements
// apart; in the last strip, elements without a channel become 0.
void TransformInputStrips(const bfloat16* const* pixels, int64_t channels, int64_t strip,
                          int64_t plane, bfloat16* to);
// Row `row` of both for two tiles, `even` and `odd`: 4 planes, which are interleaved
// (bfloat16_pairs.h) and hold the panels of a chunk.
void TransformInputPair(int64_t row, const bfloat16* const* even, const bfloat16* const* odd,
                        int64_t channels, int64_t plane, BFloat16Pair* to);
void TransformOutputGradientPair(int64_t row, const bfloat16* const* even,
                                 const bfloat16* const* odd, int64_t channels, int64_t plane,
                                 BFloat16Pair* to);

// Applied to a result before it is rounded.
struct WinogradEpilogue {
  const float* bias;  // one value for each channel
  bool add;           // adds the old pixels
  bool relu;
};
// Transforms planes to the m x m pixels of a result: A^T m A.
void TransformOutput(const float* from, int64_t plane, int64_t channels,
                     const WinogradEpilogue& epilogue, bfloat16* const* pixels);
void TransformOutput(const float* from, int64_t plane, int64_t channels,
                     const WinogradEpilogue& epilogue, float* const* pixels);

// Transforms 3 x 3 rows of `channels` elements to planes: G g G^T. The first row is at `filter`,
// each next row `step` elements further (`step` may be negative).
void TransformFilter(const float* filter, int64_t step, int64_t channels, int64_t plane,
                     bfloat16* to);
void TransformFilter(const float* filter, int64_t step, int64_t channels, int64_t plane, float* to);
// Transforms planes of the tile of `Pixel` to 3 x 3 rows of `channels` elements, one after another:
// G^T dU G.
template <typename Pixel>
void TransformFilterGradient(const float* from, int64_t plane, int64_t channels, float* to);
template <>
void TransformFilterGradient<bfloat16>(const float* from, int64_t plane, int64_t channels,
                                       float* to);
template <>
void TransformFilterGradient<float>(const float* from, int64_t plane, int64_t channels, float* to);

// to[i] += from[i].
void AddRow(int64_t n, const float* from, float* to);
void AddRow(int64_t n, const bfloat16* from, float* to);

}  // namespace caffe2
