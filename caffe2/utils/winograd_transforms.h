// The transforms of Winograd's F(2x2, 3x3) (Lavin and Gray, "Fast algorithms for convolutional
// neural networks", 2016), each of one tile or one filter, for all its channels.
//
// A transformed tile or filter is 4 x 4 numbers for each channel. They lie in 16 planes, so that
// each position is one matrix of tiles (or filters) by channels; `plane` is the distance of planes
// in elements. Arithmetic is done in float; what is stored as bfloat16 is rounded once, and a NaN
// stays one. Arrays must not overlap, but for pixels that are not there, which may share memory.
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

// What is done to a result before it is rounded.
struct WinogradEpilogue {
  const float* bias;  // one a channel
  bool add;           // what the pixels hold
  bool relu;
};
// 16 planes to 2 x 2 pixels of a result: A^T m A.
void TransformOutput(const float* from, int64_t plane, int64_t channels,
                     const WinogradEpilogue& epilogue, bfloat16* const* pixels);

// 3 x 3 rows of `channels`, the first at `filter` and each next one `step` elements further (which
// may be less than 0), to 16 planes: G g G^T.
void TransformFilter(const float* filter, int64_t step, int64_t channels, int64_t plane,
                     bfloat16* to);
// 16 planes to 3 x 3 rows of `channels`, one after another: G^T dU G.
void TransformFilterGradient(const float* from, int64_t plane, int64_t channels, float* to);

// to[i] += from[i].
void AddRow(int64_t n, const float* from, float* to);
void AddRow(int64_t n, const bfloat16* from, float* to);

}  // namespace caffe2
