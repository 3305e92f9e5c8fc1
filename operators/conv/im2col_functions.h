// Converts the windows of an image to columns, and back, for the host and for devices
// (host_device.h).
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// The geometry of an N x C x H x W (or N x H x W x C) image and of its columns, N x (C kh kw) x oh
// x ow (or N x oh x ow x (kh kw C)). Pairs of numbers are for the vertical and the horizontal axis.
struct ColumnLayout {
  int64_t batch, channels, size[2], output[2], kernel[2], stride[2], dilation[2], pad[2];
  bool channels_last;

  CAFFE2_HOST_DEVICE int64_t taps() const { return kernel[0] * kernel[1]; }
  CAFFE2_HOST_DEVICE int64_t pixels() const { return output[0] * output[1]; }
  CAFFE2_HOST_DEVICE int64_t ImageAt(int64_t n, int64_t channel, int64_t row,
                                     int64_t column) const {
    return channels_last ? ((n * size[0] + row) * size[1] + column) * channels + channel
                         : ((n * channels + channel) * size[0] + row) * size[1] + column;
  }
  CAFFE2_HOST_DEVICE int64_t ColumnAt(int64_t n, int64_t channel, int64_t tap,
                                      int64_t pixel) const {
    return channels_last ? ((n * pixels() + pixel) * taps() + tap) * channels + channel
                         : ((n * channels + channel) * taps() + tap) * pixels() + pixel;
  }
  // The input position of tap `tap` of the window of output `at`, along an axis; -1 outside.
  CAFFE2_HOST_DEVICE int64_t Source(int axis, int64_t at, int64_t tap) const {
    const int64_t source = at * stride[axis] - pad[axis] + tap * dilation[axis];
    return source < size[axis] ? source : -1;
  }
  // The output whose window has its tap `tap` at input position `source`; -1 if there is none.
  CAFFE2_HOST_DEVICE int64_t Target(int axis, int64_t source, int64_t tap) const {
    const int64_t from = source + pad[axis] - tap * dilation[axis];
    if (from < 0 || from % stride[axis] != 0) return -1;
    return from / stride[axis] < output[axis] ? from / stride[axis] : -1;
  }
};

// Element i of the columns.
struct ColumnElements {
  static constexpr const char* kName = "Im2Col";
  ColumnLayout layout;
  const float* x;
  float* y;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    const ColumnLayout& l = layout;
    const int64_t inner = l.channels_last ? l.channels : l.pixels(), a = i % inner,
                  tap = i / inner % l.taps(), b = i / inner / l.taps();
    const int64_t outer = l.channels_last ? l.pixels() : l.channels;
    const int64_t channel = l.channels_last ? a : b % outer;
    const int64_t pixel = l.channels_last ? b % outer : a;
    const int64_t row = l.Source(0, pixel / l.output[1], tap / l.kernel[1]);
    const int64_t column = l.Source(1, pixel % l.output[1], tap % l.kernel[1]);
    y[i] = row < 0 || column < 0 ? 0.f : x[l.ImageAt(b / outer, channel, row, column)];
  }
};

// Element i of the image: the sum of the column elements that Im2Col copies it to.
struct ColumnSums {
  static constexpr const char* kName = "Col2Im";
  ColumnLayout layout;
  const float* x;
  float* y;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    const ColumnLayout& l = layout;
    const int64_t area = l.size[0] * l.size[1], inner = l.channels_last ? l.channels : area;
    const int64_t a = i % inner, n = i / (l.channels * area);
    const int64_t b = i / inner % (l.channels_last ? area : l.channels);
    const int64_t channel = l.channels_last ? a : b, place = l.channels_last ? b : a;
    float sum = 0;
    for (int64_t u = 0; u < l.kernel[0]; ++u) {
      const int64_t row = l.Target(0, place / l.size[1], u);
      for (int64_t v = 0; row >= 0 && v < l.kernel[1]; ++v) {
        const int64_t column = l.Target(1, place % l.size[1], v);
        if (column < 0) continue;
        sum += x[l.ColumnAt(n, channel, u * l.kernel[1] + v, row * l.output[1] + column)];
      }
    }
    y[i] = sum;
  }
};

}  // namespace caffe2
