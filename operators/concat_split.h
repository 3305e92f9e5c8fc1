// What Concat and Split have in common: the axis, and copies of slices along it.
#pragma once

#include <string>
#include <vector>

#include "caffe2/core/operator.h"

namespace caffe2 {

// The arguments `axis`, `add_axis` and `order`: without `axis` it is the channels of `order`.
struct ConcatAxis {
  int axis = 0;           // may be negative
  bool add_axis = false;  // the axis exists on the joined side only

  explicit ConcatAxis(const ArgumentHelper& arguments);
  // The axis as an index into a joined shape of `joined_dims` dimensions; throws if out of range.
  int Canonical(int joined_dims) const;
};

// Copies a slab between a joined tensor and one of its pieces: `outer` runs of `run` elements,
// which lie `stride` elements apart in source and destination. Any element type.
template <class Context>
void CopySlab(TypeMeta meta, int64_t outer, int64_t run, const void* source, int64_t source_stride,
              void* destination, int64_t destination_stride, Context* context) {
  const char* from = static_cast<const char*>(source);
  char* to = static_cast<char*>(destination);
  for (int64_t i = 0; i < outer; ++i) {
    context->CopyItems(meta, run, from, to);
    from += source_stride * meta.itemsize();
    to += destination_stride * meta.itemsize();
  }
}

// The sizes of the pieces a dimension is split into: the lengths given, or equal parts. Throws if
// they do not add up.
std::vector<int64_t> SplitLengths(const std::vector<int64_t>& given, int pieces, int64_t size,
                                  bool add_axis);

}  // namespace caffe2
