#include "operators/shape/transpose.h"

#include <algorithm>
#include <cstring>

#include "caffe2/core/logging.h"
#include "caffe2/utils/parallel.h"
#include "operators/shape/matrix_transpose.h"

namespace caffe2 {
namespace {

// Dimensions of y, outermost first, with the strides of x and y in elements. Dimensions that stay
// neighbours are merged, and dimensions of size 1 are removed.
struct Layout {
  std::vector<int64_t> size, x_stride, y_stride;
};

Layout MakeLayout(const std::vector<int64_t>& dims, const std::vector<int>& axes) {
  std::vector<int64_t> stride(dims.size(), 1);
  for (int d = static_cast<int>(dims.size()) - 2; d >= 0; --d) {
    stride[d] = stride[d + 1] * dims[d + 1];
  }
  Layout layout;
  for (const int axis : axes) {
    if (dims[axis] == 1) continue;
    if (!layout.size.empty() && layout.x_stride.back() == dims[axis] * stride[axis]) {
      layout.size.back() *= dims[axis];
      layout.x_stride.back() = stride[axis];
      continue;
    }
    layout.size.push_back(dims[axis]);
    layout.x_stride.push_back(stride[axis]);
  }
  layout.y_stride.assign(layout.size.size(), 1);
  for (int d = static_cast<int>(layout.size.size()) - 2; d >= 0; --d) {
    layout.y_stride[d] = layout.y_stride[d + 1] * layout.size[d + 1];
  }
  return layout;
}

template <typename T>
void Transpose(const Layout& layout, const T* x, T* y) {
  const int last = static_cast<int>(layout.size.size()) - 1;
  // The dimension along which x is contiguous. If only outer dimensions move, it is also the last
  // one of y.
  const int unit = static_cast<int>(std::find(layout.x_stride.begin(), layout.x_stride.end(), 1) -
                                    layout.x_stride.begin());
  const int64_t columns = layout.size[unit], rows = unit == last ? 1 : layout.size[last];
  // Several cache lines of each row of x, so that the processor's prefetching sees them coming.
  const int64_t tile = rows < 16 ? 1024 : 128;
  const int64_t tiles = unit == last ? 1 : (columns + tile - 1) / tile;
  int64_t outer = 1;
  for (int d = 0; d < last; ++d) outer *= d == unit ? 1 : layout.size[d];
  const int64_t work = rows * (unit == last ? columns : std::min(columns, tile));
  ParallelFor(outer * tiles, std::max<int64_t>(1, 16384 / work), [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      int64_t rest = part / tiles, from = 0, to = 0;
      for (int d = last - 1; d >= 0; --d) {
        if (d == unit) continue;
        from += rest % layout.size[d] * layout.x_stride[d];
        to += rest % layout.size[d] * layout.y_stride[d];
        rest /= layout.size[d];
      }
      if (unit == last) {
        std::memcpy(y + to, x + from, columns * sizeof(T));
        continue;
      }
      const int64_t j = part % tiles * tile;
      TransposeTile(rows, std::min(tile, columns - j), x + from + j, layout.x_stride[last],
                    y + to + j * layout.y_stride[unit], layout.y_stride[unit]);
    }
  });
}

}  // namespace

void CheckAxes(const std::vector<int>& axes, int dims) {
  CAFFE_ENFORCE(static_cast<int>(axes.size()) == dims, "argument axes must name each of the ", dims,
                " axes of the input, found ", axes.size(), " axes");
  std::vector<bool> seen(dims, false);
  for (const int axis : axes) {
    CAFFE_ENFORCE(axis >= 0 && axis < dims && !seen[axis], "axis ", axis,
                  " is out of range or named twice for ", dims, " dimensions");
    seen[axis] = true;
  }
}

void TransposeElements(const std::vector<int64_t>& dims, const std::vector<int>& axes,
                       size_t itemsize, const void* x, void* y) {
  CheckAxes(axes, static_cast<int>(dims.size()));
  int64_t numel = 1;
  for (const int64_t dim : dims) numel *= dim;
  if (numel == 0) return;
  const Layout layout = MakeLayout(dims, axes);
  if (layout.size.size() <= 1) {
    std::memcpy(y, x, numel * itemsize);
    return;
  }
  const auto run = [&]<typename T>(T) {
    Transpose(layout, static_cast<const T*>(x), static_cast<T*>(y));
  };
  switch (itemsize) {
    case 1:
      return run(uint8_t());
    case 2:
      return run(uint16_t());
    case 4:
      return run(uint32_t());
    case 8:
      return run(uint64_t());
    default:
      CAFFE_THROW("cannot transpose elements of ", itemsize, " bytes");
  }
}

}  // namespace caffe2
