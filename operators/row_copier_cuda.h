// Rows of one tensor put together to another on CUDA devices.
#pragma once

#include <cstring>
#include <vector>

#include "caffe2/cuda/context_cuda.h"
#include "operators/picked_rows_kernels.h"
#include "operators/row_copier.h"

namespace caffe2 {

// Notes on the host which rows are wanted; Finish has them copied by one kernel.
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
    rows_.reserve(rows);
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
  // All calls have one value, of 4 or 8 bytes.
  template <typename T>
  void AppendValue(int64_t count, const T& value) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    CAFFE_ENFORCE(meta_.Match<T>(), "a value of ", TypeMeta::Make<T>().name(), " for rows of ",
                  meta_.name());
    CheckRoom(count);
    for (size_t at = 0; at < sizeof(fill_); at += sizeof(T)) {
      std::memcpy(reinterpret_cast<char*>(&fill_) + at, &value, sizeof(T));
    }
    rows_.insert(rows_.end(), count, kFillRow);
  }

  void Finish() {
    if (rows_.empty()) return;
    Tensor list(context_->device());
    list.Resize(static_cast<int64_t>(rows_.size()));
    context_->Copy(rows_.size(), rows_.data(), list.mutable_data<int64_t>());
    LaunchPickRows(list.numel(), list.data<int64_t>(), row_bytes_, fill_, from_, to_,
                   context_->stream());
  }

 private:
  void CheckRoom(int64_t count) const {
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
