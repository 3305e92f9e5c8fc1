// The transforms of Winograd's F(2x2, 3x3) (Lavin and Gray, "Fast algorithms for convolutional
// neural networks", 2016). Each transforms one tile or one filter, for all its channels.
//
// A transformed tile or filter is 4 x 4 numbers for each channel. They lie in 16 planes, one for
// each position, so that a plane is a matrix of tiles (or filters) by channels. `plane` is the
// distance between planes in elements. Arithmetic is done in float; bfloat16 results are rounded
// once, and NaN stays NaN. Arrays must not overlap, except that pixels outside of the image may
// share memory.
#pragma once

#include <cstdint>

#include "caffe2/core/half.h"

namespace caffe2 {

constexpr int64_t kWinogradPlanes = 16;

// 4 x 4 pixels of an input to 16 planes: B^T d B.
void TransformInput(const bfloat16* const* pixels, int64_t channels, int64_t plane, bfloat16* to);

// 2 x 2 pixels of a result's gradient to 16 planes: A dY A^T.
void TransformOutputGradient(const bfloat16* const* pixels, int64_t channels, int64_t plane,
                             bfloat16* to);

// What is applied to a result before it is rounded.
struct WinogradEpilogue {
  const float* bias;  // one value for each channel
  bool add;           // adds the old pixels
  bool relu;
};
// 16 planes to 2 x 2 pixels of a result: A^T m A.
void TransformOutput(const float* from, int64_t plane, int64_t channels,
                     const WinogradEpilogue& epilogue, bfloat16* const* pixels);

// 3 x 3 rows of `channels` elements to 16 planes: G g G^T. The first row is at `filter`, each next
// row `step` elements further (`step` may be negative).
void TransformFilter(const float* filter, int64_t step, int64_t channels, int64_t plane,
                     bfloat16* to);
// 16 planes to 3 x 3 rows of `channels` elements, one after another: G^T dU G.
void TransformFilterGradient(const float* from, int64_t plane, int64_t channels, float* to);

// to[i] += from[i].
void AddRow(int64_t n, const float* from, float* to);
void AddRow(int64_t n, const bfloat16* from, float* to);

}  // namespace caffe2
