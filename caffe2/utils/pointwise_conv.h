// 1x1 convolutions of any stride, and the gradients of their images, as products of pixels with
// panels of filters (row_tiles.h), for images in NHWC. Pixels are read and written where they lie.
// One thread at a time runs an object; the work inside is parallel, and results do not depend on
// the number of threads.
#pragma once

#include <cstdint>
#include <memory>

#include "caffe2/utils/onednn_conv.h"
#include "caffe2/utils/row_tiles.h"

namespace caffe2::onednn {

class PointwiseConv {
 public:
  // True for 1x1 filters without padding in one group, two spatial axes, NHWC, images of float, or
  // bfloat16 if sums have an even number of products, and filters of float, on a processor that
  // HasTileInstructions(). The columns of the product (filters, or channels for the gradient) are a
  // multiple of kTileSide. Only forward problems may have a bias, of float. False for
  // kBackwardFilter.
  static bool Supports(const ConvProblem& problem, ConvDirection direction);

  // Throws EnforceNotMet if the problem is not supported.
  PointwiseConv(const ConvProblem& problem, ConvDirection direction);

  // Forward: dst = src * filter, with the problem's bias, add_to_dst and relu. Gradient: d src = d
  // dst * filter, or d src += it with add_to_dst, from d dst as `from`. `bias` may be null.
  void Run(const void* from, const float* filter, const float* bias, void* to);

 private:
  struct Rows {
    int64_t begin, end;
  };
  struct Panels {
    int64_t begin, end;
  };
  class BytesAhead;
  template <typename T>
  void RunWithType(const T* from, const float* filter, const float* bias, T* to);
  template <typename T>
  void Pack(const float* filter, TileWord<T>* panels) const;
  // The packed filter: in this thread's scratch memory, or kept.
  template <typename T>
  const TileWord<T>* Packed(const float* filter);
  // Some rows of the product for some panels.
  template <typename T>
  void Multiply(Rows rows, Panels panels, const T* from, const TileWord<T>* packed,
                const float* bias, T* to) const;
  // Some rows for one panel, whose `columns` are packed.
  template <typename T>
  void MultiplyPanel(Rows rows, int64_t panel, const T* from, const TileWord<T>* columns,
                     const RowEpilogue& epilogue, T* to, BytesAhead ahead) const;
  // Pixels that no window covers have no gradient.
  template <typename T>
  void ClearOtherPixels(T* to) const;
  // The number of the pixel of an image that belongs to a row of the product.
  int64_t PixelOf(int64_t row) const;

  const bool forward_, add_, relu_, keeps_filter_;
  const int64_t images_, height_, width_, out_height_, out_width_, stride_y_, stride_x_;
  const int64_t depth_, columns_;  // of the product
  const bool in_order_;            // rows of the product are the pixels one after another
  std::shared_ptr<void> kept_;     // the packed filter
  const float* kept_source_ = nullptr;
  const ConvProblem problem_;
};

}  // namespace caffe2::onednn
