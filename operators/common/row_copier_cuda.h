// Copies rows of one tensor to another on CUDA devices.
#pragma once

#include <cstring>
#include <vector>

#include "caffe2/cuda/context_cuda.h"
#include "operators/common/device_integers.h"
#include "operators/common/row_copier.h"
#include "operators/sparse/picked_rows_kernels.h"

namespace caffe2 {

// Append... lists the rows on the host, and Finish copies them with one kernel. The other Finish...
// functions make the list on the device.
template <>
class RowCopierFor<CUDAContext> {
 public:
  RowCopierFor(const Tensor& X, int64_t rows, Tensor* Y, CUDAContext* context, int row_axes = 1)
      : meta_(X.dtype()), room_(rows), context_(context) {
    ResizeForRows(X, rows, row_axes, Y);
    CAFFE_ENFORCE(meta_.copy() == nullptr, "elements of type ", meta_.name(),
                  " exist in host memory only");
    row_bytes_ = X.size_from_dim(row_axes) * static_cast<int64_t>(meta_.itemsize());
    limit_ = X.size_to_dim(row_axes);
    from_ = X.raw_data();
    to_ = Y->raw_mutable_data(meta_);
  }

  void Append(int64_t begin, int64_t count = 1) {
    CAFFE_ENFORCE(begin >= 0 && count >= 0 && count <= limit_ - begin, "rows ", begin, " to ",
                  begin + count, " of ", limit_, " to copy");
    CheckRoom(count);
    for (int64_t row = begin; row < begin + count; ++row) rows_.push_back(row);
  }
  void AppendZeros(int64_t count) {
    CheckRoom(count);
    rows_.insert(rows_.end(), count, kZeroRow);
  }
  // All calls must give the same value, of 4 or 8 bytes.
  template <typename T>
  void AppendValue(int64_t count, const T& value) {
    SetFill(value);
    CheckRoom(count);
    rows_.insert(rows_.end(), count, kFillRow);
  }

  void Finish() {
    if (rows_.empty()) return;
    Tensor list = ListOf(static_cast<int64_t>(rows_.size()));
    context_->Copy(rows_.size(), rows_.data(), list.mutable_data<int64_t>());
    Pick(list);
  }

  // Each function below replaces Append... and Finish. It writes all rows of Y from a list in
  // device memory and does not wait. Wrong lengths and indices are reported (CheckedIndices).

  // Writes `length` rows of each segment. Rows after the end of a segment are zeros, or `value` if
  // given. A longer segment is an error unless `cut`. `present`, if not null, gets
  // [segments, length]: whether a row comes from X.
  template <typename T = float>
  void FinishSegments(const Tensor& lengths, int64_t length, bool cut, const T* value,
                      Tensor* present) {
    const int64_t n = lengths.numel();
    Tensor scanned(CPU), rows = ListOf(n * length);
    const int64_t* offsets = ScanLengths(lengths, limit_, &scanned, context_);
    bool* is_row = nullptr;
    if (present != nullptr) {
      present->Resize(n, length);
      is_row = present->mutable_data<bool>();
    }
    if (value != nullptr) SetFill(*value);
    LaunchListSegments(n, offsets, length, value != nullptr ? kFillRow : kZeroRow, cut,
                       rows.mutable_data<int64_t>(), is_row, context_->report(),
                       context_->stream());
    Pick(rows);
  }
  // Writes the rows of X [steps, batch], with the first lengths[b] rows of each b in reverse order.
  void FinishReversed(const Tensor& lengths, int64_t steps, int64_t batch) {
    Tensor rows = ListOf(steps * batch);
    LaunchListReversed(IntegersOf(lengths, 0, "lengths"), steps, batch,
                       rows.mutable_data<int64_t>(), context_->report(), context_->stream());
    Pick(rows);
  }
  // Copies row indices[i] of X to row i of Y or, with `inverse`, row i of X to row indices[i] of Y.
  void FinishPermuted(const Tensor& indices, bool inverse) {
    const RowIndices list = IntegersOf(indices, limit_, "indices");
    Tensor there = ListOf(list.n), back = ListOf(list.n);
    LaunchListPermutation(list, there.mutable_data<int64_t>(), back.mutable_data<int64_t>(),
                          context_->report(), context_->stream());
    Pick(inverse ? back : there);
  }

 private:
  Tensor ListOf(int64_t n) const {
    Tensor list(context_->device());
    list.Resize(n);
    list.mutable_data<int64_t>();
    return list;
  }
  void Pick(const Tensor& rows) {
    if (rows.numel() == 0) return;
    LaunchPickRows(rows.numel(), rows.data<int64_t>(), row_bytes_, fill_, from_, to_,
                   context_->stream());
  }
  // A value of 4 or 8 bytes.
  template <typename T>
  void SetFill(const T& value) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    CAFFE_ENFORCE(meta_.Match<T>(), "a value of ", TypeMeta::Make<T>().name(), " for rows of ",
                  meta_.name());
    for (size_t at = 0; at < sizeof(fill_); at += sizeof(T)) {
      std::memcpy(reinterpret_cast<char*>(&fill_) + at, &value, sizeof(T));
    }
  }
  void CheckRoom(int64_t count) {
    rows_.reserve(static_cast<size_t>(room_));
    CAFFE_ENFORCE(count >= 0 && count <= room_ - static_cast<int64_t>(rows_.size()), count,
                  " rows to write, with room for ", room_ - static_cast<int64_t>(rows_.size()));
  }

  TypeMeta meta_;
  int64_t room_, limit_ = 0, row_bytes_ = 0;
  uint64_t fill_ = 0;
  const void* from_ = nullptr;
  void* to_ = nullptr;
  std::vector<int64_t> rows_;
  CUDAContext* context_;
};

}  // namespace caffe2
