// Images whose pixels are moved by a map on CUDA devices.
#pragma once

#include <vector>

#include "caffe2/cuda/context_cuda.h"
#include "operators/image/pixel_map.h"
#include "operators/image/pixel_map_kernels.h"

namespace caffe2 {

// Keeps the map on the device, and copies it again only when it changes.
template <>
class PixelMover<CUDAContext> {
 public:
  template <typename T>
  void Gather(const PixelPlanes& source, const PixelMap& map, float outside, const T* x, T* y,
              CUDAContext* context) {
    if (NeedsCopy(map)) {
      Copy(map.rows, &rows_, context);
      Copy(map.columns, &columns_, context);
      map_ = map;
    }
    LaunchGatherPixels(LayoutOf(source, map), {Data(rows_), Data(columns_)}, outside, x, y,
                       context->stream());
  }

  template <typename T>
  void Scatter(const PixelPlanes& source, const PixelMap& map, const T* dy, T* dx,
               CUDAContext* context) {
    if (NeedsCopy(map) || source.height != height_ || source.width != width_) {
      CopyUses(map.rows, source.height, &row_starts_, &rows_, context);
      CopyUses(map.columns, source.width, &column_starts_, &columns_, context);
      map_ = map;
      height_ = source.height;
      width_ = source.width;
    }
    LaunchSumPixels(LayoutOf(source, map),
                    {Data(row_starts_), Data(rows_), Data(column_starts_), Data(columns_)}, dy, dx,
                    context->stream());
  }

 private:
  static PixelLayout LayoutOf(const PixelPlanes& source, const PixelMap& map) {
    return {source.planes,
            source.height,
            source.width,
            source.values,
            static_cast<int64_t>(map.rows.size()),
            static_cast<int64_t>(map.columns.size())};
  }
  static const int64_t* Data(const Tensor& tensor) { return tensor.data<int64_t>(); }

  bool NeedsCopy(const PixelMap& map) const { return !rows_.has_data() || !(map == map_); }

  static void Copy(const std::vector<int64_t>& list, Tensor* tensor, CUDAContext* context) {
    *tensor = Tensor(context->device());
    tensor->Resize(static_cast<int64_t>(list.size()));
    context->Copy(list.size(), list.data(), tensor->mutable_data<int64_t>());
  }
  // Inverts the map of an axis: lists the uses of each of `size` source indices.
  static void CopyUses(const std::vector<int64_t>& map, int64_t size, Tensor* starts, Tensor* uses,
                       CUDAContext* context) {
    std::vector<int64_t> first(size + 1, 0), list;
    for (const int64_t source : map) {
      if (source >= 0) ++first[source + 1];
    }
    for (int64_t i = 0; i < size; ++i) first[i + 1] += first[i];
    list.resize(first[size]);
    std::vector<int64_t> next = first;
    for (size_t i = 0; i < map.size(); ++i) {
      if (map[i] >= 0) list[next[map[i]]++] = static_cast<int64_t>(i);
    }
    Copy(first, starts, context);
    Copy(list, uses, context);
  }

  PixelMap map_;
  int64_t height_ = 0, width_ = 0;
  Tensor rows_{CPU}, columns_{CPU};  // the maps for Gather, the uses for Scatter
  Tensor row_starts_{CPU}, column_starts_{CPU};
};

}  // namespace caffe2
