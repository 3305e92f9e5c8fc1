// What convolution, pooling and their kin share: storage order, the window's arguments, and the
// shape of the result.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "caffe2/core/argument.h"
#include "caffe2/core/operator_schema.h"

namespace caffe2 {

enum class StorageOrder { kNCHW, kNHWC };

// The `order` argument, NCHW if there is none. Throws for another value.
StorageOrder ReadStorageOrder(const ArgumentHelper& arguments);

// The pads of `rank` spatial axes, all beginnings, then all ends: `pads`, or `pad` for every side,
// or pad_t, pad_l, pad_b, pad_r; 0 if there are none; negative where something is taken away.
// Throws on a huge one, and if the number of pads does not fit.
std::vector<int64_t> ReadPads(const ArgumentHelper& arguments, size_t rank);

// The meaning of a tensor's axes: N x C x spatial or N x spatial x C, with any number of spatial
// axes (none too).
struct ImageShape {
  int64_t batch = 0;
  int64_t channels = 0;
  std::vector<int64_t> spatial;

  // Throws unless there are at least two axes.
  static ImageShape FromDims(const std::vector<int64_t>& dims, StorageOrder order);
  std::vector<int64_t> ToDims(StorageOrder order) const;
  // N, C, spatial, whatever the storage.
  std::vector<int64_t> Logical() const { return ToDims(StorageOrder::kNCHW); }
  int64_t SpatialSize() const;
};

// A window slid over an image: one entry a spatial axis.
struct Window {
  std::vector<int64_t> kernel, stride, dilation, pad_begin, pad_end;
  std::vector<int64_t> output;  // spatial axes of the result
};

// The arguments of Caffe2's windowed operators:
//   kernel | kernel_h, kernel_w | kernels (one an axis); stride, dilation likewise, default 1;
//   pad | pad_t, pad_l, pad_b, pad_r | pads (all beginnings, then all ends), default 0;
//   legacy_pad: 0 pads as given; 1 VALID none; 2 SAME output = ceil(input / stride), the odd pad at
//   the end; 3 Caffe's pooling: `pad` on both sides and the output size rounded up;
//   global_pooling: the window is the whole image, whatever kernel says; group; order.
class WindowArguments {
 public:
  // Throws EnforceNotMet on values that can never work: kernel, stride, dilation or group below 1,
  // negative pads, pads beside VALID or SAME, a stride, dilation or pad beside global_pooling.
  explicit WindowArguments(const ArgumentHelper& arguments);

  StorageOrder order() const { return order_; }
  bool channels_last() const { return order_ == StorageOrder::kNHWC; }
  int64_t group() const { return group_; }
  bool global_pooling() const { return global_pooling_; }

  // The window on an input of these spatial axes. Throws, naming axis and sizes, if the number of
  // axes does not fit the arguments, or the window is larger than the padded input.
  Window Resolve(const std::vector<int64_t>& spatial) const;
  // The same for the transposed convolution, whose output is
  // (input - 1) * stride + kernel + adj - pads; `adj` (adj_h, adj_w, adjs) must be below stride.
  // VALID and SAME both mean no pads there.
  Window ResolveTransposed(const std::vector<int64_t>& spatial) const;

 private:
  enum LegacyPad { kNotSet = 0, kValid = 1, kSame = 2, kCaffePooling = 3 };

  void ResolveAxis(int64_t input, size_t axis, Window* window) const;
  Window Expand(size_t rank) const;

  StorageOrder order_;
  int64_t group_;
  int legacy_pad_;
  bool global_pooling_;
  // As given: empty, one value for all axes, or one an axis (pads: two).
  std::vector<int64_t> kernel_, stride_, dilation_, pads_, adj_;
};

// Fills Arg() documentation of everything WindowArguments reads.
void DescribeWindow(OpSchema& schema);

}  // namespace caffe2
