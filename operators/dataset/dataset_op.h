// Datasets: columns of records whose lists may nest, and cursors that read them.
//
// A column is a tensor named by a path, "user:clicks:values:time". If there is a column "lengths"
// at a path ("user:clicks:lengths"), the columns below that path hold a list for each entry of the
// level above, and the lengths are the lengths of these lists. All columns of a level have the same
// number of rows.
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
  // Without names there is one column without a name. Throws EnforceNotMet if a name occurs twice.
  explicit TreeFields(std::vector<std::string> names);

  const std::vector<std::string>& names() const { return names_; }
  int size() const { return static_cast<int>(names_.size()); }
  int num_levels() const { return static_cast<int>(lengths_fields_.size()) + 1; }
  // The level of column `field`.
  int level(int field) const { return levels_[field]; }

  // One number of rows for each level.
  using Rows = std::vector<int64_t>;
  // The number of rows, at every level, of `records` records that begin at the given offsets of all
  // levels. Throws EnforceNotMet, naming the column, if the columns do not have these rows.
  Rows Count(const std::vector<const Tensor*>& columns, const Rows& offsets, int64_t records) const;
  // The number of records: the rows of the first column at level 0.
  int64_t NumRecords(const std::vector<const Tensor*>& columns) const;
  // Throws EnforceNotMet, naming the column, unless the rows of all columns match the lengths.
  void Check(const std::vector<const Tensor*>& columns) const;

 private:
  std::vector<std::string> names_;
  std::vector<int> levels_;
  std::vector<int> lengths_fields_;  // the column of lengths of level i + 1
};

// A position in a dataset. Threads may share it: lock `mutex` to read or write the offsets.
struct TreeCursor {
  explicit TreeCursor(TreeFields tree) : fields(std::move(tree)) {}
  const TreeFields fields;
  std::mutex mutex;
  // ReadNextBatch: one for each level; ReadRandomBatch: one for the records; empty: the beginning.
  TreeFields::Rows offsets;
};
CAFFE2_TYPE_NAME(std::unique_ptr<TreeCursor>, "std::unique_ptr<TreeCursor>");

// Lists of tensors: the output of CreateTensorVector, and the elements of a tensor of packed
// records.
using TensorVector = std::vector<Tensor>;
using TensorVectorPtr = std::unique_ptr<TensorVector>;
using SharedTensorVectorPtr = std::shared_ptr<TensorVector>;
CAFFE2_TYPE_NAME(TensorVectorPtr, "std::unique_ptr<std::vector<TensorCPU>>");
CAFFE2_TYPE_NAME(SharedTensorVectorPtr, "std::shared_ptr<std::vector<TensorCPU>>");

// True if a tensor has rows. False for packed records that come from a file, which has no data.
inline bool HasRows(const Tensor& tensor) {
  if (!tensor.has_data() || tensor.numel() == 0) return false;
  return !tensor.IsType<SharedTensorVectorPtr>() ||
         *tensor.data<SharedTensorVectorPtr>() != nullptr;
}

// Copies rows [begin, begin + count) of X to Y.
void CopyRows(const Tensor& X, int64_t begin, int64_t count, Tensor* Y);
// Appends the rows of X to Y. Throws EnforceNotMet unless the other dimensions and the element type
// are the same.
void AppendRows(const Tensor& X, Tensor* Y);

}  // namespace caffe2
