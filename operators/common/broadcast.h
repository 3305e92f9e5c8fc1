// Broadcasting: how two tensors of different shapes combine element by element.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "caffe2/core/argument.h"
#include "caffe2/core/tensor.h"
#include "caffe2/utils/parallel.h"

namespace caffe2 {

// Two operands and their combined index space. Dimensions of size 1 are removed, and dimensions in
// which both operands advance in the same way are merged, so most plans have one to three. A
// stride of 0 means that the operand has one value for the whole dimension. Strides count
// elements of dense row-major operands. Holds no heap memory.
struct BroadcastPlan {
  static constexpr int kMaxDims = 8;

  int dims = 0;  // at least 1 after planning
  std::array<int64_t, kMaxDims> size{};
  std::array<int64_t, kMaxDims> a_stride{};
  std::array<int64_t, kMaxDims> b_stride{};
  int64_t numel = 0;  // product of the sizes; may be 0

  int64_t inner_size() const { return size[dims - 1]; }
  int64_t a_inner_stride() const { return a_stride[dims - 1]; }
  int64_t b_inner_stride() const { return b_stride[dims - 1]; }
  int64_t outer_size() const { return inner_size() == 0 ? 0 : numel / inner_size(); }
  // True if the operand is not repeated: every index has an element of its own.
  bool a_full() const { return Full(a_stride); }
  bool b_full() const { return Full(b_stride); }

  // Calls body(offset, a_offset, b_offset) for the rows [begin, end) of the innermost dimension,
  // in row-major order; offset counts elements of the index space.
  template <typename Body>
  void ForRows(int64_t begin, int64_t end, const Body& body) const {
    std::array<int64_t, kMaxDims> index{};
    int64_t a = 0, b = 0, rest = begin;
    for (int d = dims - 2; d >= 0; --d) {
      index[d] = rest % size[d];
      rest /= size[d];
      a += index[d] * a_stride[d];
      b += index[d] * b_stride[d];
    }
    for (int64_t row = begin; row < end; ++row) {
      body(row * inner_size(), a, b);
      for (int d = dims - 2; d >= 0; --d) {
        a += a_stride[d];
        b += b_stride[d];
        if (++index[d] < size[d]) break;
        a -= size[d] * a_stride[d];
        b -= size[d] * b_stride[d];
        index[d] = 0;
      }
    }
  }

  // The part of the index space with indices [begin, end) of dimension d. Its offsets count from
  // the beginning of the part: the caller moves the operands' pointers to index `begin`.
  BroadcastPlan Part(int d, int64_t begin, int64_t end) const;

 private:
  bool Full(const std::array<int64_t, kMaxDims>& stride) const {
    for (int d = 0; d < dims; ++d) {
      if (stride[d] == 0 && size[d] > 1) return false;
    }
    return true;
  }
};

// Calls body(n, offset, a_offset, b_offset) for all rows, each of n elements, in parallel if there
// is enough work. A plan of one dimension has one row, which is split into parts of n elements.
// Several threads run the body, so it may write only the elements [offset, offset + n) of the index
// space.
template <typename Body>
void ParallelRows(const BroadcastPlan& plan, int64_t grain, const Body& body) {
  if (plan.numel == 0) return;
  if (plan.dims == 1) {
    const int64_t a = plan.a_stride[0], b = plan.b_stride[0];
    ParallelFor(plan.numel, grain, [&](int64_t begin, int64_t end) {
      body(end - begin, begin, begin * a, begin * b);
    });
    return;
  }
  const int64_t rows_per_grain = std::max<int64_t>(1, grain / plan.inner_size());
  ParallelFor(plan.outer_size(), rows_per_grain, [&](int64_t begin, int64_t end) {
    plan.ForRows(begin, end, [&](int64_t offset, int64_t a, int64_t b) {
      body(plan.inner_size(), offset, a, b);
    });
  });
}

// The rules of Caffe2's binary operators, read from their arguments `broadcast`, `axis`,
// `axis_str` and `order`.
struct BroadcastRule {
  bool legacy = false;  // broadcast=1: B's shape is a contiguous part of A's
  int axis = -1;        // where B's shape begins in A's; -1: B's shape is a suffix of A's

  BroadcastRule() = default;
  // Throws for axis together with axis_str, and for an axis_str that is not one letter of `order`.
  explicit BroadcastRule(const ArgumentHelper& arguments);

  // The shape of the result. Throws, naming both shapes, if they cannot be broadcast.
  std::vector<int64_t> OutputShape(const std::vector<int64_t>& a,
                                   const std::vector<int64_t>& b) const;
  BroadcastPlan Plan(const std::vector<int64_t>& a, const std::vector<int64_t>& b) const;
};

// Plans as NumPy does: shapes are aligned at the end, and a dimension of size 1 repeats. Throws,
// naming both shapes, if they cannot be broadcast. Throws if the plan needs more than kMaxDims.
BroadcastPlan MakeBroadcastPlan(const std::vector<int64_t>& a, const std::vector<int64_t>& b);

}  // namespace caffe2
