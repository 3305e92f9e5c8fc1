// An image seen as `batch` x `spatial` elements of each channel.
#pragma once

#include <cstdint>

namespace caffe2 {

struct ChannelShape {
  int64_t batch = 0, channels = 0, spatial = 0;
  bool channels_last = false;

  int64_t PerChannel() const { return batch * spatial; }
};

}  // namespace caffe2
