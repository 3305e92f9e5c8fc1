#include "db/image/area_resize.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "caffe2/core/logging.h"
#include "caffe2/utils/simd.h"
#include "db/image/crop_geometry.h"

namespace caffe2::db {

namespace {

// The source pixels first, first + 1, ... of each output pixel, with their weights, which add up
// to 1. All output pixels have the same number of weights; surplus ones are 0.
struct AreaWeights {
  std::vector<int> first;
  std::vector<float> weights;  // count x taps
  int taps = 0;

  // Reuses memory.
  void Compute(const AreaAxis& axis, int source_size) {
    const int max = static_cast<int>(std::ceil(axis.step)) + 1;
    taps = std::min(max, source_size);
    first.resize(static_cast<size_t>(axis.count));
    weights.assign(static_cast<size_t>(axis.count) * static_cast<size_t>(taps), 0.f);
    for (int i = 0; i < axis.count; ++i) {
      const double begin = axis.begin + i * axis.step;
      const double end = std::min(begin + axis.step, static_cast<double>(source_size));
      // Near the end of the source the weights begin earlier, so that all taps lie inside.
      int at = static_cast<int>(begin + kMinAreaOverlap);
      const int shifted = std::min(at, source_size - taps);
      first[static_cast<size_t>(i)] = shifted;
      float* row = &weights[static_cast<size_t>(i) * static_cast<size_t>(taps)];
      for (; at < end - kMinAreaOverlap; ++at) {
        const double part = std::min<double>(end, at + 1) - std::max<double>(begin, at);
        row[at - shifted] = static_cast<float>(part / (end - begin));
      }
    }
  }
};

// sums[i] = sum of the rows, weighted.
CAFFE2_SIMD_CLONES
void AddRows(const uint8_t* first, int64_t stride, const float* weights, int taps, int n,
             float* sums) {
  for (int i = 0; i < n; ++i) sums[i] = weights[0] * static_cast<float>(first[i]);
  for (int tap = 1; tap < taps; ++tap) {
    const uint8_t* row = first + tap * stride;
    const float weight = weights[tap];
    if (weight == 0.f) continue;
    for (int i = 0; i < n; ++i) sums[i] += weight * static_cast<float>(row[i]);
  }
}

// Means over columns of sums over rows, which end with one more element that is not used. kTaps is
// columns.taps, or 0 for any number.
template <int kChannels, int kTaps>
CAFFE2_INLINE void AddTaps(const float* sums, const AreaWeights& columns, int count, float* means) {
  // Four lanes make one vector; the next pixel overwrites the lane that is too much.
  constexpr int kLanes = kChannels == 3 ? 4 : kChannels;
  const int taps = kTaps > 0 ? kTaps : columns.taps;
  const float* weights = columns.weights.data();
  for (int x = 0; x < count; ++x, weights += taps, means += kChannels) {
    const float* in = sums + columns.first[static_cast<size_t>(x)] * kChannels;
    float mean[kLanes] = {};
    for (int tap = 0; tap < taps; ++tap, in += kChannels) {
      for (int lane = 0; lane < kLanes; ++lane) mean[lane] += weights[tap] * in[lane];
    }
    for (int lane = 0; lane < kLanes; ++lane) means[lane] = mean[lane];
  }
}

template <int kChannels>
CAFFE2_INLINE void AddColumns(const float* sums, const AreaWeights& columns, int count,
                              float* means) {
  switch (columns.taps) {
    case 2:
      return AddTaps<kChannels, 2>(sums, columns, count, means);
    case 3:
      return AddTaps<kChannels, 3>(sums, columns, count, means);
    case 4:
      return AddTaps<kChannels, 4>(sums, columns, count, means);
    default:
      return AddTaps<kChannels, 0>(sums, columns, count, means);
  }
}

CAFFE2_SIMD_CLONES
void AddColumns1(const float* sums, const AreaWeights& columns, int count, float* means) {
  AddColumns<1>(sums, columns, count, means);
}
CAFFE2_SIMD_CLONES
void AddColumns3(const float* sums, const AreaWeights& columns, int count, float* means) {
  AddColumns<3>(sums, columns, count, means);
}

CAFFE2_SIMD_CLONES
void RoundRow(const float* means, int n, uint8_t* output) {
  for (int i = 0; i < n; ++i) {
    output[i] = static_cast<uint8_t>(static_cast<int>(std::nearbyint(std::min(means[i], 255.f))));
  }
}

}  // namespace

int AreaAxis::first() const { return static_cast<int>(begin + kMinAreaOverlap); }

int AreaAxis::end() const {
  return static_cast<int>(std::ceil(begin + count * step - kMinAreaOverlap));
}

void ShrinkByArea(const ImageView<uint8_t>& source, const AreaAxis& rows, const AreaAxis& columns,
                  uint8_t* output) {
  const int channels = source.channels;
  CAFFE_ENFORCE((channels == 1 || channels == 3) && source.channel_stride == 1 &&
                    source.column_stride == channels,
                "only interleaved images of 1 or 3 channels can be shrunk");
  CAFFE_ENFORCE(rows.begin >= -kMinAreaOverlap && rows.end() <= source.height &&
                    columns.begin >= -kMinAreaOverlap && columns.end() <= source.width &&
                    rows.step >= 1 && columns.step >= 1,
                "an area outside of an image of ", source.height, "x", source.width);
  thread_local AreaWeights row_weights, column_weights;
  thread_local std::vector<float> sums, means;
  row_weights.Compute(rows, source.height);
  column_weights.Compute(columns, source.width);
  const int n = source.width * channels, to_n = columns.count * channels;
  sums.resize(static_cast<size_t>(n) + 1);
  means.resize(static_cast<size_t>(to_n) + 1);
  for (int y = 0; y < rows.count; ++y, output += to_n) {
    AddRows(source.At(row_weights.first[static_cast<size_t>(y)], 0), source.row_stride,
            &row_weights.weights[static_cast<size_t>(y) * static_cast<size_t>(row_weights.taps)],
            row_weights.taps, n, sums.data());
    if (channels == 1) {
      AddColumns1(sums.data(), column_weights, columns.count, means.data());
    } else {
      AddColumns3(sums.data(), column_weights, columns.count, means.data());
    }
    RoundRow(means.data(), to_n, output);
  }
}

}  // namespace caffe2::db
