#include "operators/segment/segments.h"

#include "operators/common/indices.h"

namespace caffe2 {
namespace {

constexpr int64_t kMaxSegments = int64_t{1} << 31;  // ids are int32 in Caffe2

std::vector<int64_t> ReadIds(const Tensor& ids, int64_t entries) {
  CAFFE_ENFORCE(ids.dim() == 1 && ids.numel() == entries, "segment ids ", ShapeString(ids.sizes()),
                " must be one for each of ", entries, " entries");
  return ReadIntegers(ids, "segment ids");
}

}  // namespace

Segments Segments::FromLengths(const Tensor& lengths) {
  CAFFE_ENFORCE_EQ(lengths.dim(), 1, "lengths ", ShapeString(lengths.sizes()),
                   " must be one-dimensional");
  const std::vector<int64_t> values = ReadIntegers(lengths, "lengths");
  Segments segments;
  segments.offsets_.reserve(values.size() + 1);
  segments.offsets_.push_back(0);
  for (size_t i = 0; i < values.size(); ++i) {
    CAFFE_ENFORCE_GE(values[i], 0, "length ", i);
    CAFFE_ENFORCE_LE(values[i], std::numeric_limits<int64_t>::max() - segments.size(),
                     "the sum of the lengths overflows");
    segments.offsets_.push_back(segments.size() + values[i]);
  }
  return segments;
}

Segments Segments::FromLengths(const Tensor& lengths, int64_t entries) {
  Segments segments = FromLengths(lengths);
  CAFFE_ENFORCE_EQ(segments.size(), entries, "the sum of the lengths and the number of entries");
  return segments;
}

Segments Segments::FromSortedIds(const Tensor& ids, int64_t entries) {
  const std::vector<int64_t> values = ReadIds(ids, entries);
  Segments segments;
  segments.offsets_.push_back(0);
  for (int64_t i = 0; i < entries; ++i) {
    const int64_t last = i == 0 ? 0 : values[i - 1];
    CAFFE_ENFORCE(values[i] == last || (i > 0 && values[i] == last + 1), "segment id ", values[i],
                  " at position ", i, ": ids must begin with 0, be sorted and have no gaps");
    if (values[i] != last) segments.offsets_.push_back(i);
  }
  if (entries > 0) segments.offsets_.push_back(entries);
  return segments;
}

Segments Segments::FromIds(const Tensor& ids, int64_t entries, int64_t count) {
  const std::vector<int64_t> values = ReadIds(ids, entries);
  if (count < 0) {
    count = 0;
    for (const int64_t id : values) {
      CAFFE_ENFORCE_LT(id, kMaxSegments, "segment id");
      count = std::max(count, id + 1);
    }
  }
  CheckIndices(entries, values.data(), count);
  // A counting sort, which is stable.
  Segments segments;
  segments.offsets_.assign(count + 1, 0);
  for (const int64_t id : values) ++segments.offsets_[id + 1];
  for (int64_t i = 0; i < count; ++i) segments.offsets_[i + 1] += segments.offsets_[i];
  std::vector<int64_t> next(segments.offsets_.begin(), segments.offsets_.end() - 1);
  segments.order_.resize(entries);
  for (int64_t i = 0; i < entries; ++i) segments.order_[next[values[i]]++] = i;
  return segments;
}

}  // namespace caffe2
