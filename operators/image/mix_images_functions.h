// Mixed images and labels, for the host and for devices (host_device.h).
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// How the images of a batch are mixed, each with the image `shift` places after it (after the last
// comes the first). Its parts have at most 8 bytes each, so that they can be HostValues of a
// device.
struct MixChoice {
  // The share of an image's own pixels, outside the box, and of its own label.
  struct Shares {
    float pixels = 1, label = 1;
  };
  // Rows [top, bottom) and columns [left, right), where the other image replaces the image.
  struct Box {
    uint16_t top = 0, bottom = 0, left = 0, right = 0;
  };
  Shares shares;
  Box box;
  int64_t shift = 0;
};

// A choice, or the places of its parts in device memory.
struct MixSource {
  MixChoice choice;
  const MixChoice::Shares* shares = nullptr;  // null: `choice` counts
  const MixChoice::Box* box = nullptr;
  const int64_t* shift = nullptr;

  CAFFE2_HOST_DEVICE MixChoice Get() const {
    if (shares == nullptr) return choice;
    MixChoice read;
    read.shares = *shares;
    read.box = *box;
    read.shift = *shift;
    return read;
  }
};

// Row of Y: a line of `height` lines of an image or, of NCHW, of a plane of it.
template <typename T>
struct MixedRows {
  static constexpr const char* kName = "MixImages";
  MixSource source;
  int64_t images, lines, height;  // lines: of an image, over all its planes
  int64_t width, values;          // pixels of a line; elements of a pixel that lie side by side
  const T* x;
  T* y;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t row, Team team) const {
    const MixChoice mix = source.Get();
    const int64_t n = width * values, image = row / lines, line = row % height;
    const int64_t other = (image + mix.shift) % images;
    const T *own = x + row * n, *others = x + (row + (other - image) * lines) * n;
    const bool crosses = line >= mix.box.top && line < mix.box.bottom;
    const int64_t left = crosses ? mix.box.left * values : n,
                  right = crosses ? mix.box.right * values : n;
    const float share = mix.shares.pixels;
    T* to = y + row * n;
    for (int64_t j = team.first(); j < n; j += team.step()) {
      const bool inside = j >= left && j < right;
      const float mixed =
          share * host_device::Widen(own[j]) + (1 - share) * host_device::Widen(others[j]);
      to[j] = inside ? others[j] : share == 1 ? own[j] : host_device::Narrow<T>(mixed);
    }
  }
};

// Row of the probabilities float {images, labels}. A label out of range has no share.
struct MixedLabelRows {
  static constexpr const char* kName = "MixLabels";
  MixSource source;
  int64_t images, labels;
  float smoothing;  // share of the probability that is spread over all labels
  const int32_t* label;
  float* y;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t image, Team team) const {
    const MixChoice mix = source.Get();
    const int64_t own = label[image], other = label[(image + mix.shift) % images];
    const float share = mix.shares.label, all = smoothing / static_cast<float>(labels);
    for (int64_t k = team.first(); k < labels; k += team.step()) {
      const float mixed = (k == own ? share : 0.f) + (k == other ? 1 - share : 0.f);
      y[image * labels + k] = (1 - smoothing) * mixed + all;
    }
  }
};

}  // namespace caffe2
