// Copies rows of one tensor to another.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "caffe2/core/operator.h"

namespace caffe2 {

// Copies n elements of any copyable type on the host; the ranges do not overlap.
inline void CopyItems(TypeMeta meta, int64_t n, const void* source, void* destination) {
  if (meta.copy() != nullptr) {
    meta.copy()(source, destination, static_cast<size_t>(n));
  } else if (n != 0) {
    std::memcpy(destination, source, static_cast<size_t>(n) * meta.itemsize());
  }
}

// Y gets the shape [rows, shape of a row of X]. Throws if X has fewer than `row_axes` axes or holds
// no data.
inline void ResizeForRows(const Tensor& X, int64_t rows, int row_axes, Tensor* Y) {
  CAFFE_ENFORCE(X.dim() >= row_axes && X.has_data(), "a tensor ", ShapeString(X.sizes()),
                " has no rows to copy");
  std::vector<int64_t> dims{rows};
  dims.insert(dims.end(), X.sizes().begin() + row_axes, X.sizes().end());
  Y->Resize(dims);
}

// Copies rows of X, of any element type, to Y, one after another. A row holds the elements that
// have the same indices along the first `row_axes` axes; rows are numbered along these axes.
class RowCopier {
 public:
  // Y gets X's element type and the shape [rows, shape of a row]. X and Y must outlive this. Throws
  // if X has fewer axes or holds no data.
  RowCopier(const Tensor& X, int64_t rows, Tensor* Y, int row_axes = 1)
      : meta_(X.dtype()), rows_(rows) {
    ResizeForRows(X, rows, row_axes, Y);
    width_ = X.size_from_dim(row_axes);
    row_bytes_ = static_cast<size_t>(width_) * meta_.itemsize();
    from_ = static_cast<const char*>(X.raw_data());
    to_ = static_cast<char*>(Y->raw_mutable_data(meta_));
    limit_ = X.size_to_dim(row_axes);
  }

  // Copies rows [begin, begin + count) of X after the rows written so far. Throws if X does not
  // have them or Y has no room.
  void Append(int64_t begin, int64_t count = 1) {
    CAFFE_ENFORCE(begin >= 0 && count >= 0 && count <= limit_ - begin && count <= rows_, "rows ",
                  begin, " to ", begin + count, " of ", limit_, " to copy, with room for ", rows_);
    CopyItems(meta_, count * width_, from_ + begin * row_bytes_, to_);
    Advance(count);
  }

  // Writes `count` rows of zeros or of empty strings. Throws if Y has no room, or for element types
  // that are neither numbers nor strings.
  void AppendZeros(int64_t count) {
    if (meta_.Match<std::string>()) return AppendValue(count, std::string());
    CAFFE_ENFORCE(meta_.copy() == nullptr, "there is no zero of ", meta_.name());
    CheckRoom(count);
    std::fill_n(to_, count * row_bytes_, 0);
    Advance(count);
  }

  // Writes `count` rows of one value. Throws if Y has no room or is of another type.
  template <typename T>
  void AppendValue(int64_t count, const T& value) {
    CAFFE_ENFORCE(meta_.Match<T>(), "a value of ", TypeMeta::Make<T>().name(), " for rows of ",
                  meta_.name());
    CheckRoom(count);
    std::fill_n(reinterpret_cast<T*>(to_), count * width_, value);
    Advance(count);
  }

 private:
  void CheckRoom(int64_t count) const {
    CAFFE_ENFORCE(count >= 0 && count <= rows_, count, " rows to write, with room for ", rows_);
  }
  void Advance(int64_t count) {
    to_ += count * row_bytes_;
    rows_ -= count;
  }

  TypeMeta meta_;
  int64_t rows_;  // room left
  int64_t limit_ = 0, width_ = 0;
  size_t row_bytes_ = 0;
  const char* from_ = nullptr;
  char* to_ = nullptr;
};

// A RowCopier for operators of any device, if the host knows which rows to copy. Call Finish after
// the last Append. row_copier_cuda.h has the version for CUDA devices.
template <class Context>
class RowCopierFor;
template <>
class RowCopierFor<CPUContext> : public RowCopier {
 public:
  RowCopierFor(const Tensor& X, int64_t rows, Tensor* Y, CPUContext* /*context*/, int row_axes = 1)
      : RowCopier(X, rows, Y, row_axes) {}
  void Finish() {}
};

}  // namespace caffe2
