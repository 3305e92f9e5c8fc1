// Adagrad of parameters with a mask that keeps elements at zero, for the host and for devices
// (host_device.h).
#pragma once

#include "operators/optimizer/sparse_update.h"

namespace caffe2 {

// Adagrad of all elements; `keep` is 1 or 0 for each, or null: all are kept.
struct MaskedAdagradElements {
  static constexpr const char* kName = "MaskedAdagrad";
  DenseUpdate<AdagradRule> elements;
  const float* keep;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    elements(i);
    if (keep == nullptr) return;
    elements.param_out[i] *= keep[i];
    elements.state_out[0][i] *= keep[i];
  }
};

// Bit j % 8 of byte j / 8 of a row is 1 if block j of the parameter's row is kept.
struct BitMask {
  const uint8_t* bits = nullptr;  // null keeps all
  int64_t bytes_a_row = 0, block_size = 1;

  CAFFE2_HOST_DEVICE bool Keeps(int64_t row, int64_t column) const {
    const int64_t block = column / block_size;
    return bits == nullptr || ((bits[row * bytes_a_row + block / 8] >> (block % 8)) & 1) != 0;
  }
};

// Zeroes the elements of a row of p, and of h unless null, that the mask does not keep.
struct ClearMaskedRow {
  static constexpr const char* kName = "ClearMaskedRow";
  int64_t width;
  BitMask mask;
  float *p, *h;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t row, Team team) const {
    for (int64_t j = team.first(); j < width; j += team.step()) {
      if (mask.Keeps(row, j)) continue;
      p[row * width + j] = 0;
      if (h != nullptr) h[row * width + j] = 0;
    }
  }
};

// Updates the rows that indices name (sparse_update.h), then applies the mask to each updated row.
template <class Update>
struct MaskedRow {
  static constexpr const char* kName = "MaskedSparseAdagrad";
  int64_t width;
  Update update;
  ClearMaskedRow clear;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t row, int64_t position, Team team) const {
    update(row, position, team);
    clear(row, team);  // a member clears what it has updated
  }
};

}  // namespace caffe2
