// Datasets: columns of records whose lists may nest, and cursors that read them.
//
// A column is a tensor named by a path, "user:clicks:values:time". Where a path has a column
// "lengths" beside it ("user:clicks:lengths"), what lies below that path is a list for each entry
// of the level above; the lengths say how long each is. All columns of one level have as many rows.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "caffe2/core/operator.h"

namespace caffe2 {

// The tree of levels that the names of the columns span. Level 0 holds the records; each column of
// lengths makes one more.
class TreeFields {
 public:
  // No names stand for one column of no name. Throws EnforceNotMet on a name that occurs twice.
  explicit TreeFields(std::vector<std::string> names);

  const std::vector<std::string>& names() const { return names_; }
  int size() const { return static_cast<int>(names_.size()); }
  int num_levels() const { return static_cast<int>(lengths_fields_.size()) + 1; }
  // The level whose rows column `field` holds.
  int level(int field) const { return levels_[field]; }

  // Rows at every level.
  using Rows = std::vector<int64_t>;
  // The rows of all levels that belong to records [offset, offset + records): given the offsets of
  // all levels, how many there are. Throws, naming the column, if the columns do not hold them.
  Rows Count(const std::vector<const Tensor*>& columns, const Rows& offsets, int64_t records) const;
  // The number of records: rows of the first column at level 0.
  int64_t NumRecords(const std::vector<const Tensor*>& columns) const;
  // Throws, naming the column, unless lengths and columns agree to the end.
  void Check(const std::vector<const Tensor*>& columns) const;

 private:
  std::vector<std::string> names_;
  std::vector<int> levels_;
  std::vector<int> lengths_fields_;  // which column makes level i + 1
};

// A place in a dataset. Threads may share it.
struct TreeCursor {
  explicit TreeCursor(TreeFields tree) : fields(std::move(tree)) {}
  const TreeFields fields;
  std::mutex mutex;
  TreeFields::Rows offsets;  // of each level; empty: the beginning
};
CAFFE2_TYPE_NAME(std::unique_ptr<TreeCursor>, "std::unique_ptr<TreeCursor>");

// Lists of tensors: what CreateTensorVector makes, and the elements of a tensor of packed records.
using TensorVector = std::vector<Tensor>;
using TensorVectorPtr = std::unique_ptr<TensorVector>;
using SharedTensorVectorPtr = std::shared_ptr<TensorVector>;
CAFFE2_TYPE_NAME(TensorVectorPtr, "std::unique_ptr<std::vector<TensorCPU>>");
CAFFE2_TYPE_NAME(SharedTensorVectorPtr, "std::shared_ptr<std::vector<TensorCPU>>");

// Whether a tensor has rows. Packed records that come from a file, which holds none, do not count.
inline bool HasRows(const Tensor& tensor) {
  if (!tensor.has_data() || tensor.numel() == 0) return false;
  return !tensor.IsType<SharedTensorVectorPtr>() ||
         *tensor.data<SharedTensorVectorPtr>() != nullptr;
}

// Copies rows [begin, begin + count) of X to Y.
void CopyRows(const Tensor& X, int64_t begin, int64_t count, Tensor* Y);
// Appends the rows of X to Y, whose other dimensions and element type must be the same.
void AppendRows(const Tensor& X, Tensor* Y);

}  // namespace caffe2
