// The parts of FC_Prune, FC_Sparse and TT that are not dense products, for the host and for devices
// (host_device.h).
#pragma once

#include "operators/common/row_indices.h"

namespace caffe2 {

// y[row, n] = bias[n] + x[row] . row n of a sparse weight, which has elements [ends[n],
// ends[n + 1]).
struct SparseProducts {
  static constexpr const char* kName = "FC_Sparse";
  int64_t outputs;
  const int64_t* ends;
  RowIndices column;  // of each element of the weight
  const float *x, *weight, *bias;
  float* y;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t n = i % outputs;
    const float* row = x + i / outputs * column.rows;
    float sum = bias[n];
    for (int64_t k = ends[n]; k < ends[n + 1]; ++k) {
      const int64_t j = column.At(k);
      if (column.Has(j)) sum += row[j] * weight[k];
    }
    y[i] = sum;
  }
};

// y = x + the bias of its column.
struct AddBias {
  static constexpr const char* kName = "AddBias";
  int64_t columns;
  const float *x, *bias;
  float* y;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const { y[i] = x[i] + bias[i % columns]; }
};

// share[0] = the mean of the mask: the share of weights that are not pruned. A functor of one row.
struct ShareLeft {
  static constexpr const char* kName = "ShareLeft";
  int64_t n;
  const float* mask;
  float* share;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t /*row*/, Team team) const {
    using Number = typename Team::Number;
    Number sum = 0;
    for (int64_t i = team.first(); i < n; i += team.step()) sum += mask[i];
    sum = team.Sum(sum);
    if (team.leader()) *share = static_cast<float>(sum / static_cast<Number>(n));
  }
};

// The gradient of weights that were pruned is 0.
struct MaskGradient {
  static constexpr const char* kName = "MaskGradient";
  const float* mask;
  float* dw;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    if (mask[i] == 0) dw[i] = 0;
  }
};
// Adds the gradients of a window of runs.
struct AddGradient {
  static constexpr const char* kName = "AddGradient";
  const float* dw;
  float* sum;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const { sum[i] += dw[i]; }
};
// At the end of a window, weights with small sums are pruned. A weight whose sum is 0 is kept.
CAFFE2_HOST_DEVICE inline bool IsPruned(float sum, float threshold) {
  return sum != 0 && std::fabs(sum) < threshold;
}
// Prunes at the end of a window, and begins the next one.
struct PruneWeights {
  static constexpr const char* kName = "PruneWeights";
  float threshold;
  float *dw, *w, *mask, *sum;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    if (IsPruned(sum[i], threshold)) dw[i] = w[i] = mask[i] = 0;
    sum[i] = 0;
  }
};

}  // namespace caffe2
