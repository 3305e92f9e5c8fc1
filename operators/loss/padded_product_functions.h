// Products of pairs of rows of different length, for the host and for devices (host_device.h).
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// Which elements of two rows are multiplied: element j of the longer row with element j of the
// shorter row (modulo its length, if it is repeated) or, past its end, with the pad.
struct PaddedPairs {
  int64_t longer = 0, shorter = 0;
  float pad = 0;
  bool replicate = false;

  CAFFE2_HOST_DEVICE float Partner(const float* row, int64_t j) const {
    if (j < shorter) return row[j];
    return replicate ? row[j % shorter] : pad;
  }
};

// z[i] = the dot product of rows i.
struct PaddedProductRows {
  static constexpr const char* kName = "DotProductWithPadding";
  PaddedPairs pairs;
  const float *longer, *shorter;
  float* z;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t i, Team team) const {
    using Number = typename Team::Number;
    Number sum = 0;
    for (int64_t j = team.first(); j < pairs.longer; j += team.step()) {
      sum += Number(longer[i * pairs.longer + j]) * pairs.Partner(shorter + i * pairs.shorter, j);
    }
    sum = team.Sum(sum);
    if (team.leader()) z[i] = static_cast<float>(sum);
  }
};

struct PaddedProductGradientRows {
  static constexpr const char* kName = "DotProductWithPaddingGradient";
  PaddedPairs pairs;
  const float *longer, *shorter, *dz;
  float *d_longer, *d_shorter;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t i, Team team) const {
    const float* from = longer + i * pairs.longer;
    for (int64_t j = team.first(); j < pairs.longer; j += team.step()) {
      d_longer[i * pairs.longer + j] = dz[i] * pairs.Partner(shorter + i * pairs.shorter, j);
    }
    const int64_t end = pairs.replicate ? pairs.longer : pairs.shorter;
    for (int64_t k = team.first(); k < pairs.shorter; k += team.step()) {
      float sum = 0;
      for (int64_t j = k; j < end; j += pairs.shorter) sum += dz[i] * from[j];
      d_shorter[i * pairs.shorter + k] = sum;
    }
  }
};

}  // namespace caffe2
