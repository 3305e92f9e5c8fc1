// Shared by convolution, pooling and similar operators: storage order, the arguments of the window,
// and the shape of the result.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "caffe2/core/argument.h"
#include "caffe2/core/operator_schema.h"

namespace caffe2 {

enum class StorageOrder { kNCHW, kNHWC };

// The argument `order` (default NCHW). Throws EnforceNotMet for other values than NCHW and NHWC.
StorageOrder ReadStorageOrder(const ArgumentHelper& arguments);

// The pads of `rank` spatial axes, all beginnings, then all ends, in pixels. Reads `pads`, or `pad`
// for every side, or pad_t, pad_l, pad_b and pad_r; default 0. A negative pad crops. Throws
// EnforceNotMet if a pad is huge or the number of pads does not match `rank`.
std::vector<int64_t> ReadPads(const ArgumentHelper& arguments, size_t rank);

// The meaning of a tensor's axes: N x C x spatial or N x spatial x C, with any number of spatial
// axes, also none.
struct ImageShape {
  int64_t batch = 0;
  int64_t channels = 0;
  std::vector<int64_t> spatial;

  // Throws unless there are at least two axes.
  static ImageShape FromDims(const std::vector<int64_t>& dims, StorageOrder order);
  std::vector<int64_t> ToDims(StorageOrder order) const;
  // [N, C, spatial...] for both storage orders.
  std::vector<int64_t> Logical() const { return ToDims(StorageOrder::kNCHW); }
  int64_t SpatialSize() const;
};

// A window that slides over an image: one entry for each spatial axis.
struct Window {
  std::vector<int64_t> kernel, stride, dilation, pad_begin, pad_end;
  std::vector<int64_t> output;  // spatial axes of the result
};

// The arguments of Caffe2's windowed operators:
//   kernel | kernel_h, kernel_w | kernels (one for each axis); likewise stride and dilation,
//   default 1;
//   pad | pad_t, pad_l, pad_b, pad_r | pads (all beginnings, then all ends), default 0;
//   legacy_pad: 0 pads as given; 1 VALID, no pads; 2 SAME, output = ceil(input / stride), the odd
//   pad at the end; 3 Caffe's pooling, `pad` on both sides and the output size rounded up;
//   global_pooling: the window is the whole image, and kernel is ignored; group; order.
class WindowArguments {
 public:
  // Throws EnforceNotMet for values that no input fits: kernel missing or below 1; stride, dilation
  // or group below 1; negative pads; pads together with VALID or SAME; a stride, dilation or pad
  // together with global_pooling.
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
  // VALID and SAME both mean no pads. Throws for a dilation, global_pooling or legacy_pad 3.
  Window ResolveTransposed(const std::vector<int64_t>& spatial) const;

 private:
  enum LegacyPad { kNotSet = 0, kValid = 1, kSame = 2, kCaffePooling = 3 };

  void ResolveAxis(int64_t input, size_t axis, Window* window) const;
  Window Expand(size_t rank) const;

  StorageOrder order_;
  int64_t group_;
  int legacy_pad_;
  bool global_pooling_;
  // As given: empty, one value for all axes, or one for each axis (pads: two).
  std::vector<int64_t> kernel_, stride_, dilation_, pads_, adj_;
};

// Documents the arguments that WindowArguments reads.
void DescribeWindow(OpSchema& schema);

}  // namespace caffe2
