// Kernels of images: pixels moved by maps, bilinear upsampling, blocks of pixels, integral images.
#include "caffe2/cuda/kernel.h"
#include "operators/common/host_device_kernel.h"
#include "operators/image/integral_image_functions.h"
#include "operators/image/mix_images_functions.h"
#include "operators/image/pixel_map_kernels.h"
#include "operators/image/space_to_batch_functions.h"
#include "operators/image/upsample_bilinear_functions.h"

namespace caffe2 {

using cuda::Narrow;
using cuda::Widen;

template <typename T>
void LaunchGatherPixels(const PixelLayout& layout, const DevicePixelMap& map, float outside,
                        const T* x, T* y, cuda::Stream stream) {
  const int64_t n = layout.planes * layout.made_height * layout.made_width * layout.values;
  cuda::ForEach("GatherPixels", n, stream, [=] __device__(int64_t at) {
    const int64_t value = at % layout.values, pixel = at / layout.values;
    const int64_t column = map.columns[pixel % layout.made_width];
    const int64_t line = pixel / layout.made_width;
    const int64_t row = map.rows[line % layout.made_height], plane = line / layout.made_height;
    y[at] =
        row < 0 || column < 0
            ? Narrow<T>(outside)
            : x[((plane * layout.height + row) * layout.width + column) * layout.values + value];
  });
}

template <typename T>
void LaunchSumPixels(const PixelLayout& layout, const DevicePixelUses& uses, const T* dy, T* dx,
                     cuda::Stream stream) {
  const int64_t n = layout.planes * layout.height * layout.width * layout.values;
  cuda::ForEach("SumPixels", n, stream, [=] __device__(int64_t at) {
    const int64_t value = at % layout.values, pixel = at / layout.values;
    const int64_t column = pixel % layout.width, line = pixel / layout.width;
    const int64_t row = line % layout.height, plane = line / layout.height;
    float sum = 0;
    for (int64_t i = uses.row_starts[row]; i < uses.row_starts[row + 1]; ++i) {
      const int64_t made_line = plane * layout.made_height + uses.row_uses[i];
      for (int64_t j = uses.column_starts[column]; j < uses.column_starts[column + 1]; ++j) {
        const int64_t made = made_line * layout.made_width + uses.column_uses[j];
        sum += Widen(dy[made * layout.values + value]);
      }
    }
    dx[at] = Narrow<T>(sum);
  });
}

#define INSTANTIATE(T)                                                                            \
  template void LaunchGatherPixels<T>(const PixelLayout&, const DevicePixelMap&, float, const T*, \
                                      T*, cuda::Stream);                                          \
  template void LaunchSumPixels<T>(const PixelLayout&, const DevicePixelUses&, const T*, T*,      \
                                   cuda::Stream)
INSTANTIATE(float);
INSTANTIATE(float16);
INSTANTIATE(bfloat16);

INSTANTIATE_FOR_EACH_ROW_REAL(BilinearRows);
INSTANTIATE_FOR_EACH_ROW_REAL(BilinearGradientRows);
INSTANTIATE_FOR_EACH_ROW_REAL(MixedRows);
INSTANTIATE_FOR_EACH_ROW(MixedLabelRows);
INSTANTIATE_FOR_EACH_REAL(SpaceToBatchElements);
INSTANTIATE_FOR_EACH_REAL(BatchToSpaceElements);
INSTANTIATE_FOR_EACH(IntegrateRows);
INSTANTIATE_FOR_EACH(GatherRowSums);
INSTANTIATE_FOR_EACH(SumDownColumns);

}  // namespace caffe2
