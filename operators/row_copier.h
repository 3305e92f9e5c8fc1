// Rows of one tensor put together to another.
#pragma once

#include <cstring>
#include <vector>

#include "caffe2/core/tensor.h"

namespace caffe2 {

// Copies n elements of any copyable type on the host; the ranges do not overlap.
inline void CopyItems(TypeMeta meta, int64_t n, const void* source, void* destination) {
  if (meta.copy() != nullptr) {
    meta.copy()(source, destination, static_cast<size_t>(n));
  } else if (n != 0) {
    std::memcpy(destination, source, static_cast<size_t>(n) * meta.itemsize());
  }
}

// Copies rows (the parts along axis 0) of X, of any element type, to Y, one after another.
class RowCopier {
 public:
  // Y gets X's element type, and its shape with `rows` rows. X and Y must outlive this. Throws if X
  // has no rows or holds no data.
  RowCopier(const Tensor& X, int64_t rows, Tensor* Y) : meta_(X.dtype()), rows_(rows) {
    CAFFE_ENFORCE(X.dim() >= 1 && X.has_data(), "a tensor ", ShapeString(X.sizes()),
                  " has no rows to copy");
    std::vector<int64_t> dims = X.sizes();
    dims[0] = rows;
    Y->Resize(dims);
    width_ = X.size_from_dim(1);
    row_bytes_ = static_cast<size_t>(width_) * meta_.itemsize();
    from_ = static_cast<const char*>(X.raw_data());
    to_ = static_cast<char*>(Y->raw_mutable_data(meta_));
    limit_ = X.size(0);
  }

  // Copies rows [begin, begin + count) of X behind the rows that were copied so far. Throws if X
  // does not have them, or Y no room.
  void Append(int64_t begin, int64_t count = 1) {
    CAFFE_ENFORCE(begin >= 0 && count >= 0 && count <= limit_ - begin && count <= rows_, "rows ",
                  begin, " to ", begin + count, " of ", limit_, " to copy, with room for ", rows_);
    CopyItems(meta_, count * width_, from_ + begin * row_bytes_, to_);
    to_ += count * row_bytes_;
    rows_ -= count;
  }

 private:
  TypeMeta meta_;
  int64_t rows_;  // room left
  int64_t limit_ = 0, width_ = 0;
  size_t row_bytes_ = 0;
  const char* from_ = nullptr;
  char* to_ = nullptr;
};

}  // namespace caffe2
