// Adagrad of parameters of which a mask keeps elements at zero, for the host and for devices
// (portable.h).
#pragma once

#include "operators/optimizer/optimizer_functions.h"
#include "operators/optimizer/row_functions.h"

namespace caffe2 {

// Adagrad of all elements; `keep` is 1 or 0 for each, or null: all are kept.
struct MaskedAdagradElements {
  static constexpr const char* kName = "MaskedAdagrad";
  float epsilon, decay;
  Rate lr;
  const float *p, *h, *g, *keep;
  float *p_out, *h_out;
  CAFFE2_PORTABLE void operator()(int64_t i) const {
    const float squares = decay * h[i] + g[i] * g[i], share = keep == nullptr ? 1.f : keep[i];
    const float next = p[i] + lr() * g[i] / (std::sqrt(squares) + epsilon);
    p_out[i] = next * share;
    h_out[i] = squares * share;
  }
};

// Bit j % 8 of byte j / 8 of a row says whether block j of the parameter's row is kept.
struct BitMask {
  const uint8_t* bits = nullptr;  // null keeps all
  int64_t bytes_a_row = 0, block_size = 1;

  CAFFE2_PORTABLE bool Keeps(int64_t row, int64_t column) const {
    const int64_t block = column / block_size;
    return bits == nullptr || ((bits[row * bytes_a_row + block / 8] >> (block % 8)) & 1) != 0;
  }
};

// Sets to zero what the mask does not keep of a row of p, and of h unless it is null.
struct ClearMaskedRow {
  static constexpr const char* kName = "ClearMaskedRow";
  int64_t width;
  BitMask mask;
  float *p, *h;
  template <class Team>
  CAFFE2_PORTABLE void operator()(int64_t row, Team team) const {
    for (int64_t j = team.first(); j < width; j += team.step()) {
      if (mask.Keeps(row, j)) continue;
      p[row * width + j] = 0;
      if (h != nullptr) h[row * width + j] = 0;
    }
  }
};

// A rule for rows that are named by index (row_functions.h), after which the mask applies to the
// row.
template <class Rule>
struct MaskedRow {
  static constexpr const char* kName = "MaskedSparseAdagrad";
  int64_t width;
  Rule rule;
  ClearMaskedRow clear;
  template <class Team>
  CAFFE2_PORTABLE void operator()(int64_t row, int64_t position, Team team) const {
    rule(row, position, team);
    clear(row, team);  // a member clears what it has updated
  }
};

}  // namespace caffe2
