// Locally connected layers, for the host and for devices (host_device.h).
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// The geometry of one layer. At each of `positions`, and for each group, it multiplies the patch of
// the input under the window (depth x window values) with a matrix of outputs / group rows.
struct LocalLayout {
  int64_t batch = 0, channels = 0, pixels = 0;  // of x
  int64_t outputs = 0, positions = 0, window = 0, group = 1;
  bool channels_last = false;

  CAFFE2_HOST_DEVICE int64_t depth() const { return channels / group; }
  CAFFE2_HOST_DEVICE int64_t patch() const { return depth() * window; }
  CAFFE2_HOST_DEVICE int64_t rows() const { return outputs / group; }
  CAFFE2_HOST_DEVICE int64_t XAt(int64_t n, int64_t c, int64_t pixel) const {
    return n * channels * pixels + (channels_last ? pixel * channels + c : c * pixels + pixel);
  }
  CAFFE2_HOST_DEVICE int64_t YAt(int64_t n, int64_t m, int64_t position) const {
    return n * outputs * positions +
           (channels_last ? position * outputs + m : m * positions + position);
  }
  // The index of the weight for output m at a position, window element k and channel c of the
  // group.
  CAFFE2_HOST_DEVICE int64_t FilterAt(int64_t position, int64_t m, int64_t k, int64_t c) const {
    return (position * outputs + m) * patch() + (channels_last ? k * depth() + c : c * window + k);
  }
};

// Element i of y, in its order. source[p * window + k] is the pixel of x under element k of the
// window at position p; -1 outside.
struct LocalProducts {
  static constexpr const char* kName = "LC";
  LocalLayout l;
  const int64_t* source;
  const float *x, *filter, *bias;  // bias may be null
  float* y;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t n = i / (l.outputs * l.positions), at = i % (l.outputs * l.positions);
    const int64_t m = l.channels_last ? at % l.outputs : at / l.positions;
    const int64_t p = l.channels_last ? at / l.outputs : at % l.positions;
    float sum = bias == nullptr ? 0.f : bias[p * l.outputs + m];
    const int64_t first = m / l.rows() * l.depth(), filter_step = l.channels_last ? 1 : l.window,
                  x_step = l.channels_last ? 1 : l.pixels;
    for (int64_t k = 0; k < l.window; ++k) {
      const int64_t pixel = source[p * l.window + k];
      if (pixel < 0) continue;
      const float *of_filter = filter + l.FilterAt(p, m, k, 0), *of_x = x + l.XAt(n, first, pixel);
      for (int64_t c = 0; c < l.depth(); ++c) sum += of_filter[c * filter_step] * of_x[c * x_step];
    }
    y[i] = sum;
  }
};

// Element i of the filter's gradient, in the filter's order.
struct LocalFilterGradient {
  static constexpr const char* kName = "LCFilterGradient";
  LocalLayout l;
  const int64_t* source;
  const float *x, *dy;
  float* dfilter;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t element = i % l.patch(), m = i / l.patch() % l.outputs;
    const int64_t p = i / l.patch() / l.outputs;
    const int64_t k = l.channels_last ? element / l.depth() : element % l.window;
    const int64_t c = l.channels_last ? element % l.depth() : element / l.window;
    const int64_t pixel = source[p * l.window + k], channel = m / l.rows() * l.depth() + c;
    float sum = 0;
    for (int64_t n = 0; pixel >= 0 && n < l.batch; ++n) {
      sum += dy[l.YAt(n, m, p)] * x[l.XAt(n, channel, pixel)];
    }
    dfilter[i] = sum;
  }
};

// Element i of the bias' gradient, positions x outputs.
struct LocalBiasGradient {
  static constexpr const char* kName = "LCBiasGradient";
  LocalLayout l;
  const float* dy;
  float* dbias;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    float sum = 0;
    for (int64_t n = 0; n < l.batch; ++n) sum += dy[l.YAt(n, i % l.outputs, i / l.outputs)];
    dbias[i] = sum;
  }
};

// Element i of dx, in the order of x. uses[starts[pixel]], ... are the indices in `source` that
// hold the pixel.
struct LocalInputGradient {
  static constexpr const char* kName = "LCInputGradient";
  LocalLayout l;
  const int64_t *starts, *uses;
  const float *filter, *dy;
  float* dx;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t n = i / (l.channels * l.pixels), at = i % (l.channels * l.pixels);
    const int64_t channel = l.channels_last ? at % l.channels : at / l.pixels;
    const int64_t pixel = l.channels_last ? at / l.channels : at % l.pixels;
    const int64_t g = channel / l.depth(), c = channel % l.depth();
    float sum = 0;
    for (int64_t u = starts[pixel]; u < starts[pixel + 1]; ++u) {
      const int64_t p = uses[u] / l.window, k = uses[u] % l.window;
      for (int64_t m = g * l.rows(); m < (g + 1) * l.rows(); ++m) {
        sum += dy[l.YAt(n, m, p)] * filter[l.FilterAt(p, m, k, c)];
      }
    }
    dx[i] = sum;
  }
};

}  // namespace caffe2
