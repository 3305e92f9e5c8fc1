// TTSparseLengthsSum: sums of rows of an embedding that is stored as a tensor train. Structs for
// the loops of host_device.h, for CPUs and CUDA devices. The matrices are too small for a BLAS.
//
// A tensor train stores a table of rows[0] * rows[1] * rows[2] rows in three small arrays, its
// cores. Row number ((p0 * rows[1]) + p1) * rows[2] + p2 of the table is the matrix product
// G_0 G_1 G_2, where G_k is row p_k of core k ("TT-Rec", Yin et al. 2021). p_k is called the place
// of the row in core k.
#pragma once

#include "operators/common/row_indices.h"
#include "operators/common/sorted_rows.h"

namespace caffe2 {

constexpr int kTensorTrainCores = 3;

// The cores' shapes: core k is [rows[k], rank[k], width[k], rank[k + 1]], with rank[0] = rank[3]
// = 1.
struct TensorTrainShape {
  int64_t rows[kTensorTrainCores] = {}, width[kTensorTrainCores] = {},
          rank[kTensorTrainCores + 1] = {};

  // Elements of a row of the table.
  CAFFE2_HOST_DEVICE int64_t embedding() const { return width[0] * width[1] * width[2]; }
  // Elements of a row of core k.
  CAFFE2_HOST_DEVICE int64_t slice(int k) const { return rank[k] * width[k] * rank[k + 1]; }
  // G_0 G_1 has second() elements: a matrix of outer() rows and rank[2] columns, or of width[0]
  // rows and inner() columns.
  CAFFE2_HOST_DEVICE int64_t outer() const { return width[0] * width[1]; }
  CAFFE2_HOST_DEVICE int64_t inner() const { return width[1] * rank[2]; }
  CAFFE2_HOST_DEVICE int64_t second() const { return width[0] * inner(); }
};

// For each index i, writes its places in the cores, G_0 to row i of `first`, and G_0 G_1 to row i
// of `second`.
struct TensorTrainRows {
  static constexpr const char* kName = "TTSparseLengthsSumRows";
  TensorTrainShape shape;
  RowIndices index;
  const float *core0, *core1;
  int64_t* places;
  float *first, *second;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t i, Team team) const {
    const int64_t row = index.Has(index.At(i)) ? index.At(i) : 0;
    const int64_t place2 = row % shape.rows[2], place1 = row / shape.rows[2] % shape.rows[1],
                  place0 = row / shape.rows[2] / shape.rows[1];
    if (team.leader()) {
      int64_t* place = places + i * kTensorTrainCores;
      place[0] = place0;
      place[1] = place1;
      place[2] = place2;
    }
    const float *g0 = core0 + place0 * shape.slice(0), *g1 = core1 + place1 * shape.slice(1);
    for (int64_t e = team.first(); e < shape.slice(0); e += team.step()) {
      first[i * shape.slice(0) + e] = g0[e];
    }
    for (int64_t e = team.first(); e < shape.second(); e += team.step()) {
      const int64_t j = e / shape.inner(), c = e % shape.inner();
      float sum = 0;
      for (int64_t r = 0; r < shape.rank[1]; ++r) {
        sum += g0[j * shape.rank[1] + r] * g1[r * shape.inner() + c];
      }
      second[i * shape.second() + e] = sum;
    }
  }
};
// y[s] = the sum of (G_0 G_1) G_2 over the entries [offsets[s], offsets[s + 1]).
struct TensorTrainSums {
  static constexpr const char* kName = "TTSparseLengthsSum";
  TensorTrainShape shape;
  const int64_t *offsets, *places;
  const float *second, *core2;
  float* y;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t s, Team team) const {
    for (int64_t e = team.first(); e < shape.embedding(); e += team.step()) {
      const int64_t o = e / shape.width[2], c = e % shape.width[2];
      float sum = 0;
      for (int64_t i = offsets[s]; i < offsets[s + 1]; ++i) {
        const float* row = second + i * shape.second() + o * shape.rank[2];
        const float* g2 = core2 + places[i * kTensorTrainCores + 2] * shape.slice(2) + c;
        for (int64_t r = 0; r < shape.rank[2]; ++r) sum += row[r] * g2[r * shape.width[2]];
      }
      y[s * shape.embedding() + e] = sum;
    }
  }
};

// column[i] = the place of entry i in core `core`.
struct TensorTrainPlaces {
  static constexpr const char* kName = "TTSparseLengthsSumPlaces";
  int core;
  const int64_t* places;
  int64_t* column;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    column[i] = places[i * kTensorTrainCores + core];
  }
};
// For each entry: its segment, and D = dY G_2^T, the gradient of G_0 G_1.
struct GradientOfProducts {
  static constexpr const char* kName = "TTSparseLengthsSumProductGradient";
  TensorTrainShape shape;
  const int64_t *offsets, *places;
  const float *core2, *dy;
  int64_t* segment;
  float* d_products;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t s, Team team) const {
    const int64_t width = shape.width[2];
    for (int64_t i = offsets[s]; i < offsets[s + 1]; ++i) {
      if (team.leader()) segment[i] = s;
      const int64_t place = places[i * kTensorTrainCores + 2];
      if (place < 0 || place >= shape.rows[2]) continue;  // reported elsewhere
      const float *g2 = core2 + place * shape.slice(2), *row = dy + s * shape.embedding();
      for (int64_t e = team.first(); e < shape.second(); e += team.step()) {
        const int64_t o = e / shape.rank[2], r = e % shape.rank[2];
        float sum = 0;
        for (int64_t c = 0; c < width; ++c) sum += row[o * width + c] * g2[r * width + c];
        d_products[i * shape.second() + e] = sum;
      }
    }
  }
};
// The gradient of core `core`. The gradient of a row is the sum over all entries that use it of
//   dG_0 = D G_1^T,  dG_1 = G_0^T D  or  dG_2 = (G_0 G_1)^T dY.
// Rows that no entry uses are not written: `gradient` must hold zeros.
struct TensorTrainGradient {
  static constexpr const char* kName = "TTSparseLengthsSumGradient";
  TensorTrainShape shape;
  int core;
  SortedRows sorted;  // the places
  const int64_t *places, *segment;
  const float *first, *second, *core1, *d_products, *dy;
  float* gradient;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t i, Team team) const {
    if (!sorted.First(i)) return;
    const uint64_t row = sorted.Row(i);
    const int64_t slice = shape.slice(core);
    for (int64_t e = team.first(); e < slice; e += team.step()) {
      float sum = 0;
      for (int64_t k = i; k < sorted.n && sorted.Row(k) == row; ++k) {
        sum += Element(e, sorted.Position(k));
      }
      gradient[static_cast<int64_t>(row) * slice + e] = sum;
    }
  }
  // Element e of the product for one entry.
  CAFFE2_HOST_DEVICE float Element(int64_t e, int64_t entry) const {
    const int64_t inner = shape.inner();
    const float* d_product = d_products + entry * shape.second();
    if (core == 0) {
      const int64_t place = places[entry * kTensorTrainCores + 1];
      if (place < 0 || place >= shape.rows[1]) return 0;  // reported elsewhere
      const int64_t j = e / shape.rank[1], r = e % shape.rank[1];
      return Product(inner, d_product + j * inner, 1, core1 + place * shape.slice(1) + r * inner,
                     1);
    }
    if (core == 1) {
      const int64_t r = e / inner, c = e % inner;
      return Product(shape.width[0], first + entry * shape.slice(0) + r, shape.rank[1],
                     d_product + c, inner);
    }
    const int64_t r = e / shape.width[2], c = e % shape.width[2];
    return Product(shape.outer(), second + entry * shape.second() + r, shape.rank[2],
                   dy + segment[entry] * shape.embedding() + c, shape.width[2]);
  }
  CAFFE2_HOST_DEVICE static float Product(int64_t n, const float* a, int64_t a_stride,
                                          const float* b, int64_t b_stride) {
    float sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += a[i * a_stride] * b[i * b_stride];
    return sum;
  }
};

}  // namespace caffe2
