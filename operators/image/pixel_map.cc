#include "operators/image/pixel_map.h"

#include <algorithm>
#include <type_traits>

#include "caffe2/core/tensor.h"
#include "operators/common/element_type.h"

namespace caffe2 {
namespace {

constexpr int64_t kGrain = 1 << 14;  // values per thread

// Neighbours in a row of the result that are neighbours in the source, or all outside of it.
struct Run {
  int64_t column, size;  // in the source, or -1
};
std::vector<Run> RunsOf(const std::vector<int64_t>& columns) {
  std::vector<Run> runs;
  for (const int64_t column : columns) {
    const int64_t expected =
        runs.empty() || runs.back().column < 0 ? -1 : runs.back().column + runs.back().size;
    if (!runs.empty() && std::max<int64_t>(column, -1) == expected) {
      ++runs.back().size;
    } else {
      runs.push_back({std::max<int64_t>(column, -1), 1});
    }
  }
  return runs;
}

}  // namespace

PixelPlanes PixelPlanes::Make(const std::vector<int64_t>& dims, StorageOrder order) {
  const ImageShape image = ImageShape::FromDims(dims, order);
  CAFFE_ENFORCE(image.spatial.size() == 2, "X must have two spatial axes, found shape ",
                ShapeString(dims));
  const bool last = order == StorageOrder::kNHWC;
  return {image.batch * (last ? 1 : image.channels), image.spatial[0], image.spatial[1],
          last ? image.channels : 1};
}

template <typename T>
void GatherPixels(const PixelPlanes& source, const PixelMap& map, float outside, const T* x, T* y) {
  const auto height = static_cast<int64_t>(map.rows.size());
  const int64_t row_size = static_cast<int64_t>(map.columns.size()) * source.values;
  T filler;
  Store(outside, &filler);
  const std::vector<Run> runs = RunsOf(map.columns);
  ParallelFor(source.planes * height, RowGrain(row_size, kGrain), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t row = map.rows[r % height];
      const T* from = x + (r / height * source.height + row) * source.width * source.values;
      T* to = y + r * row_size;
      for (const Run& run : runs) {
        const int64_t values = run.size * source.values;
        if (row < 0 || run.column < 0) {
          std::fill_n(to, values, filler);
        } else {
          std::copy_n(from + run.column * source.values, values, to);
        }
        to += values;
      }
    }
  });
}

template <typename T>
void ScatterPixels(const PixelPlanes& source, const PixelMap& map, const T* dy, T* dx) {
  const auto height = static_cast<int64_t>(map.rows.size());
  const int64_t row_size = static_cast<int64_t>(map.columns.size()) * source.values;
  const int64_t plane_size = source.height * source.width * source.values;
  const std::vector<Run> runs = RunsOf(map.columns);
  ParallelFor(source.planes, RowGrain(height * row_size, kGrain), [&](int64_t begin, int64_t end) {
    std::vector<float> sums(plane_size);
    for (int64_t plane = begin; plane < end; ++plane) {
      std::fill(sums.begin(), sums.end(), 0.f);
      const T* from = dy + plane * height * row_size;
      for (int64_t row : map.rows) {
        for (const Run& run : runs) {
          const int64_t values = run.size * source.values;
          if (row >= 0 && run.column >= 0) {
            float* to = sums.data() + (row * source.width + run.column) * source.values;
            for (int64_t i = 0; i < values; ++i) to[i] += Widen(from[i]);
          }
          from += values;
        }
      }
      for (int64_t i = 0; i < plane_size; ++i) Store(sums[i], dx + plane * plane_size + i);
    }
  });
}

template void GatherPixels(const PixelPlanes&, const PixelMap&, float, const float*, float*);
template void GatherPixels(const PixelPlanes&, const PixelMap&, float, const bfloat16*, bfloat16*);
template void ScatterPixels(const PixelPlanes&, const PixelMap&, const float*, float*);
template void ScatterPixels(const PixelPlanes&, const PixelMap&, const bfloat16*, bfloat16*);

}  // namespace caffe2
