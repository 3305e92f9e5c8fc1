#include <algorithm>
#include <map>

#include "operators/common/row_copier.h"
#include "operators/dataset/dataset_op.h"

namespace caffe2 {
namespace {

const std::string kLengths = "lengths";

// The path above the last part of a name; empty at the top.
std::string PathOf(const std::string& name) {
  const size_t colon = name.rfind(':');
  return colon == std::string::npos ? "" : name.substr(0, colon);
}

bool IsLengths(const std::string& name) {
  const size_t colon = name.rfind(':');
  return name.substr(colon == std::string::npos ? 0 : colon + 1) == kLengths;
}

}  // namespace

TreeFields::TreeFields(std::vector<std::string> names) : names_(std::move(names)) {
  if (names_.empty()) names_.emplace_back();
  std::vector<std::string> sorted = names_;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  CAFFE_ENFORCE(twice == sorted.end(), "field \"", *twice, "\" occurs twice");
  // Outer lists come first, so that a level is known before the levels below it need it.
  std::vector<int> order;
  for (int i = 0; i < size(); ++i) {
    if (IsLengths(names_[i])) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [this](int a, int b) {
    return std::count(names_[a].begin(), names_[a].end(), ':') <
           std::count(names_[b].begin(), names_[b].end(), ':');
  });
  std::map<std::string, int> level_of_path;
  const auto find_level = [&](std::string path) {
    for (;; path = PathOf(path)) {
      const auto found = level_of_path.find(path);
      if (found != level_of_path.end()) return found->second;
      if (path.empty()) return 0;
    }
  };
  levels_.assign(size(), 0);
  for (const int field : order) {
    const std::string path = PathOf(names_[field]);
    levels_[field] = path.empty() ? 0 : find_level(PathOf(path));
    lengths_fields_.push_back(field);
    level_of_path[path] = static_cast<int>(lengths_fields_.size());
  }
  for (int i = 0; i < size(); ++i) {
    if (!IsLengths(names_[i])) levels_[i] = find_level(PathOf(names_[i]));
  }
}

TreeFields::Rows TreeFields::Count(const std::vector<const Tensor*>& columns, const Rows& offsets,
                                   int64_t records) const {
  Rows counts(num_levels(), 0);
  counts[0] = records;
  for (int level = 1; level < num_levels(); ++level) {
    const int field = lengths_fields_[level - 1];
    const int64_t begin = offsets[levels_[field]], count = counts[levels_[field]];
    const Tensor& lengths = *columns[field];
    CAFFE_ENFORCE(lengths.dim() == 1 && count <= lengths.size(0) - begin, "field \"", names_[field],
                  "\" of shape ", ShapeString(lengths.sizes()), " does not hold the rows from ",
                  begin, " to ", begin + count);
    const int32_t* data = lengths.data<int32_t>();
    for (int64_t i = begin; i < begin + count; ++i) {
      CAFFE_ENFORCE(data[i] >= 0, "a length must not be negative, found ", data[i], " at position ",
                    i, " of field \"", names_[field], "\"");
      counts[level] += data[i];
    }
  }
  for (int field = 0; field < size(); ++field) {
    const Tensor& column = *columns[field];
    const int64_t begin = offsets[levels_[field]], count = counts[levels_[field]];
    CAFFE_ENFORCE(column.dim() >= 1 && count <= column.size(0) - begin, "field \"", names_[field],
                  "\" of shape ", ShapeString(column.sizes()), " does not hold the rows from ",
                  begin, " to ", begin + count);
  }
  return counts;
}

int64_t TreeFields::NumRecords(const std::vector<const Tensor*>& columns) const {
  CAFFE_ENFORCE(static_cast<int>(columns.size()) == size(),
                "there must be one column for each of the ", size(), " fields, found ",
                columns.size());
  for (int field = 0; field < size(); ++field) {
    if (levels_[field] != 0) continue;
    CAFFE_ENFORCE(columns[field]->dim() >= 1, "field \"", names_[field],
                  "\" must have at least one axis, found a scalar");
    return columns[field]->size(0);
  }
  CAFFE_THROW("no field is at the level of the records");
}

void TreeFields::Check(const std::vector<const Tensor*>& columns) const {
  const Rows counts = Count(columns, Rows(num_levels(), 0), NumRecords(columns));
  for (int field = 0; field < size(); ++field) {
    CAFFE_ENFORCE(columns[field]->size(0) == counts[levels_[field]], "field \"", names_[field],
                  "\" must have ", counts[levels_[field]], " rows by its lengths, found ",
                  columns[field]->size(0));
  }
}

void CopyRows(const Tensor& X, int64_t begin, int64_t count, Tensor* Y) {
  RowCopier(X, count, Y).Append(begin, count);
}

void AppendRows(const Tensor& X, Tensor* Y) {
  CAFFE_ENFORCE(X.dim() >= 1 && X.has_data(),
                "the tensor to append must have at least one axis and hold elements, found ",
                X.DebugString());
  if (!Y->has_data() || (Y->dim() == 0 || Y->dtype() != X.dtype())) {
    CAFFE_ENFORCE(!Y->has_data() || Y->numel() == 0, "rows of ", X.DebugString(),
                  " cannot be appended to ", Y->DebugString());
    CopyRows(X, 0, X.size(0), Y);
    return;
  }
  const std::vector<int64_t>&x = X.sizes(), &y = Y->sizes();
  if (Y->numel() == 0 && !std::equal(x.begin() + 1, x.end(), y.begin() + 1, y.end())) {
    CopyRows(X, 0, X.size(0), Y);
    return;
  }
  CAFFE_ENFORCE(std::equal(x.begin() + 1, x.end(), y.begin() + 1, y.end()), "rows of ",
                ShapeString(x), " cannot be appended to ", ShapeString(y));
  const int64_t old = Y->numel();
  Y->ExtendTo(Y->size(0) + X.size(0));
  char* to = static_cast<char*>(Y->raw_mutable_data()) + old * static_cast<int64_t>(X.itemsize());
  CopyItems(X.dtype(), X.numel(), X.raw_data(), to);
}

}  // namespace caffe2
