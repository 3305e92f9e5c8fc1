// GroupNorm and its gradients as passes over an image, for devices (host_device.h). Sums are
// computed in double.
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// Element i of channel c of image n is at (n * channels * size) + c * channel_stride + i * stride.
// Group g holds the channels [g * depth, (g + 1) * depth).
struct GroupLayout {
  int64_t images = 0, groups = 0, depth = 0;
  int64_t size = 0;                        // elements of one channel of one image
  int64_t channel_stride = 0, stride = 0;  // one of them is 1

  CAFFE2_HOST_DEVICE int64_t channels() const { return groups * depth; }
  CAFFE2_HOST_DEVICE int64_t values() const { return depth * size; }  // of one group of one image
  CAFFE2_HOST_DEVICE int64_t Begin(int64_t n, int64_t c) const {
    return n * channels() * size + c * channel_stride;
  }
};

// Two sums over each channel of each image.
struct ChannelDots {
  double *sum = nullptr, *dot = nullptr;
};

// Sums of a and of a * b. Channels first: a team adds up a channel.
template <typename T>
struct ChannelDotRows {
  static constexpr const char* kName = "ChannelDots";
  int64_t size;
  const T *a, *b;
  ChannelDots dots;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t row, Team team) const {
    double sum = 0, dot = 0;
    for (int64_t i = row * size + team.first(); i < (row + 1) * size; i += team.step()) {
      const double value = host_device::Widen(a[i]);
      sum += value;
      dot += value * host_device::Widen(b[i]);
    }
    sum = team.Sum(sum);
    dot = team.Sum(dot);
    if (!team.leader()) return;
    dots.sum[row] = sum;
    dots.dot[row] = dot;
  }
};
// Channels last: element (image * parts + part) * channels + c of `dots` is the sum over a part of
// the pixels.
template <typename T>
struct ChannelDotColumns {
  static constexpr const char* kName = "ChannelDots";
  int64_t size, channels, parts;
  const T *a, *b;
  ChannelDots dots;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t c = i % channels, strip = i / channels;
    const int64_t image = strip / parts, part = strip % parts;
    const int64_t begin = size * part / parts, end = size * (part + 1) / parts;
    double sum = 0, dot = 0;
    for (int64_t k = begin; k < end; ++k) {
      const int64_t at = (image * size + k) * channels + c;
      const double value = host_device::Widen(a[at]);
      sum += value;
      dot += value * host_device::Widen(b[at]);
    }
    dots.sum[i] = sum;
    dots.dot[i] = dot;
  }
};
// Adds the sums of the `parts` parts of each image.
struct AddChannelDots {
  static constexpr const char* kName = "AddChannelDots";
  int64_t channels, parts;
  ChannelDots from, to;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t first = i / channels * parts * channels + i % channels;
    double sum = 0, dot = 0;
    for (int64_t part = 0; part < parts; ++part) {
      sum += from.sum[first + part * channels];
      dot += from.dot[first + part * channels];
    }
    to.sum[i] = sum;
    to.dot[i] = dot;
  }
};

// mean and 1 / sqrt(variance + epsilon) of group i of all images, from the sums of x and x^2.
struct GroupMoments {
  static constexpr const char* kName = "GroupMoments";
  GroupLayout l;
  float epsilon;
  ChannelDots dots;
  float *mean, *inverse;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    double sum = 0, squares = 0;
    for (int64_t c = i * l.depth; c < (i + 1) * l.depth; ++c) {
      sum += dots.sum[c];
      squares += dots.dot[c];
    }
    const double count = l.values() > 0 ? static_cast<double>(l.values()) : 1;
    const double first = sum / count, variance = squares / count - first * first;
    mean[i] = static_cast<float>(first);
    inverse[i] = static_cast<float>(1 / std::sqrt((variance > 0 ? variance : 0) + epsilon));
  }
};

// The factor and offset of each element of a row. A row is a channel, or a pixel if channels are
// last.
struct GroupRows {
  GroupLayout l;
  CAFFE2_HOST_DEVICE bool channels_last() const { return l.stride != 1; }
  CAFFE2_HOST_DEVICE int64_t width() const { return channels_last() ? l.channels() : l.size; }
  // Image and channel of element j of the row.
  CAFFE2_HOST_DEVICE int64_t Image(int64_t row) const {
    return row / (channels_last() ? l.size : l.channels());
  }
  CAFFE2_HOST_DEVICE int64_t Channel(int64_t row, int64_t j) const {
    return channels_last() ? j : row % l.channels();
  }
};

// y = (x - mean) * inverse * scale[channel] + bias[channel]
template <typename T>
struct GroupNormRows {
  static constexpr const char* kName = "GroupNorm";
  GroupRows rows;
  const T* x;
  const float *mean, *inverse, *scale, *bias;
  T* y;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t row, Team team) const {
    const int64_t width = rows.width(), image = rows.Image(row);
    for (int64_t j = team.first(); j < width; j += team.step()) {
      const int64_t c = rows.Channel(row, j);
      const int64_t k =
          image * rows.l.groups + static_cast<int32_t>(c) / static_cast<int32_t>(rows.l.depth);
      const float z = (host_device::Widen(x[row * width + j]) - mean[k]) * inverse[k];
      y[row * width + j] = host_device::Narrow<T>(z * scale[c] + bias[c]);
    }
  }
};

// The means of gamma dy and of gamma dy z over group i, from the sums of dy and of dy x.
struct GroupGradientMeans {
  static constexpr const char* kName = "GroupGradientMeans";
  GroupLayout l;
  ChannelDots dots;
  const float *mean, *inverse, *gamma;
  float *mean_dy, *mean_product;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    double sum = 0, product = 0;
    for (int64_t c = i * l.depth; c < (i + 1) * l.depth; ++c) {
      const double scale = gamma[c % l.channels()];
      sum += scale * dots.sum[c];
      product += scale * (dots.dot[c] - dots.sum[c] * mean[i]) * inverse[i];
    }
    mean_dy[i] = static_cast<float>(sum / static_cast<double>(l.values()));
    mean_product[i] = static_cast<float>(product / static_cast<double>(l.values()));
  }
};
// dgamma and dbeta of channel c.
struct GroupParameterGradients {
  static constexpr const char* kName = "GroupParameterGradients";
  GroupLayout l;
  ChannelDots dots;
  const float *mean, *inverse;
  float *dgamma, *dbeta;
  CAFFE2_HOST_DEVICE void operator()(int64_t c) const {
    double product = 0, sum = 0;
    for (int64_t n = 0; n < l.images; ++n) {
      const int64_t at = n * l.channels() + c, group = at / l.depth;
      product += (dots.dot[at] - dots.sum[at] * mean[group]) * inverse[group];
      sum += dots.sum[at];
    }
    dgamma[c] = static_cast<float>(product);
    dbeta[c] = static_cast<float>(sum);
  }
};
// dx = inverse * (gamma dy - mean_dy - z mean_product)
template <typename T>
struct GroupNormGradientRows {
  static constexpr const char* kName = "GroupNormGradient";
  GroupRows rows;
  const T *x, *dy;
  const float *mean, *inverse, *gamma, *mean_dy, *mean_product;
  T* dx;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t row, Team team) const {
    const int64_t width = rows.width(), image = rows.Image(row);
    for (int64_t j = team.first(); j < width; j += team.step()) {
      const int64_t c = rows.Channel(row, j), at = row * width + j;
      const int64_t k =
          image * rows.l.groups + static_cast<int32_t>(c) / static_cast<int32_t>(rows.l.depth);
      const float z = (host_device::Widen(x[at]) - mean[k]) * inverse[k];
      dx[at] = host_device::Narrow<T>(
          inverse[k] * (gamma[c] * host_device::Widen(dy[at]) - mean_dy[k] - z * mean_product[k]));
    }
  }
};

}  // namespace caffe2
