// Reductions of segments of rows and their gradients, for devices (host_device.h). Segment s has
// the entries Entry(k) for k in [offsets[s], offsets[s + 1]).
#pragma once

#include "operators/common/host_device.h"
#include "operators/sparse/row_kernels.h"

namespace caffe2 {

// Lists in device memory: the offsets of the segments and their entries.
struct DeviceSegments {
  const int64_t* offsets = nullptr;
  const int64_t* order = nullptr;  // null: entries lie in the order of their segments
  CAFFE2_HOST_DEVICE int64_t Entry(int64_t k) const { return order == nullptr ? k : order[k]; }
};

// The row of DATA that an entry reads: row indices[entry] or, without indices, row `entry`.
struct EntryRows {
  RowIndices indices;  // without data: none
  CAFFE2_HOST_DEVICE int64_t Row(int64_t entry) const {
    return indices.data == nullptr ? entry : indices.At(entry);
  }
  // False for an index that is out of range, which CheckIndices reports.
  CAFFE2_HOST_DEVICE bool Exists(int64_t row) const { return indices.Has(row); }
};

enum class SegmentSum { kSum, kMean, kMax };

// y[s] = the reduction of the rows of segment s, or 0 if it has no rows.
template <typename T>
struct ReduceSegments {
  static constexpr const char* kName = "ReduceSegments";
  SegmentSum reduction;
  DeviceSegments segments;
  EntryRows entries;
  const float* weights;  // of entries, or of positions in a segment; null: 1
  bool by_position;
  int64_t width;
  const T* x;
  float* y;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t s, Team team) const {
    const int64_t begin = segments.offsets[s], end = segments.offsets[s + 1];
    for (int64_t j = team.first(); j < width; j += team.step()) {
      float result = 0;
      for (int64_t k = begin; k < end; ++k) {
        const int64_t e = segments.Entry(k), row = entries.Row(e);
        if (!entries.Exists(row)) continue;
        const float value = host_device::Widen(x[row * width + j]);
        if (reduction == SegmentSum::kMax) {
          result = k == begin || value > result ? value : result;
        } else {
          result += weights == nullptr ? value : weights[by_position ? k - begin : e] * value;
        }
      }
      const bool mean = reduction == SegmentSum::kMean && end > begin;
      y[s * width + j] = mean ? result * (1.f / static_cast<float>(end - begin)) : result;
    }
  }
};

// For sums dx[e] = dy[s] * weight[e]; for means dy[s] / (length of s); for maxima dy[s] where x[e]
// equals y[s], else 0.
struct SegmentGradient {
  static constexpr const char* kName = "SegmentGradient";
  SegmentSum reduction;
  DeviceSegments segments;
  const float* weights;
  int64_t width;
  const float *dy, *x, *y;  // x and y are read for maxima only
  float* dx;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t s, Team team) const {
    const int64_t begin = segments.offsets[s], end = segments.offsets[s + 1];
    const float share =
        reduction == SegmentSum::kMean ? 1.f / static_cast<float>(end - begin) : 1.f;
    for (int64_t k = begin; k < end; ++k) {
      const int64_t e = segments.Entry(k);
      const float factor = weights == nullptr ? share : weights[e];
      for (int64_t j = team.first(); j < width; j += team.step()) {
        const float gradient = factor * dy[s * width + j];
        const bool counts = reduction != SegmentSum::kMax || x[e * width + j] == y[s * width + j];
        dx[e * width + j] = counts ? gradient : 0.f;
      }
    }
  }
};

// SegmentGradient for sums over segments with an id for each entry: dx[e] = dy[id of e] *
// weight[e].
struct IdGradient {
  static constexpr const char* kName = "IdGradient";
  EntryRows ids;
  const float* weights;
  int64_t width;
  const float* dy;
  float* dx;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t e, Team team) const {
    const int64_t s = ids.Row(e);
    const float factor = weights == nullptr ? 1.f : weights[e];
    for (int64_t j = team.first(); j < width; j += team.step()) {
      dx[e * width + j] = ids.Exists(s) ? factor * dy[s * width + j] : 0.f;
    }
  }
};

// dw[e] = dy[s] . x[row of e]
struct SegmentWeightGradient {
  static constexpr const char* kName = "SegmentWeightGradient";
  DeviceSegments segments;
  EntryRows entries;
  int64_t width;
  const float *dy, *x;
  float* dw;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t s, Team team) const {
    for (int64_t k = segments.offsets[s]; k < segments.offsets[s + 1]; ++k) {
      const int64_t e = segments.Entry(k), row = entries.Row(e);
      float sum = 0;
      for (int64_t j = team.first(); entries.Exists(row) && j < width; j += team.step()) {
        sum += x[row * width + j] * dy[s * width + j];
      }
      sum = team.Sum(sum);
      if (team.leader()) dw[e] = sum;
    }
  }
};

// Reports indices that are out of range.
void LaunchCheckIndices(const RowIndices& indices, cuda::KernelReport* report, cuda::Stream stream);
// offsets[i] = the sum of the `n` lengths before i, for i in [0, n]. Lengths that are negative, or
// do not add up to `entries`, are reported; offsets stay within [0, entries]. One block does it.
void LaunchOffsets(int64_t n, const void* lengths, bool is_int64, int64_t entries, int64_t* offsets,
                   cuda::KernelReport* report, cuda::Stream stream);

}  // namespace caffe2
