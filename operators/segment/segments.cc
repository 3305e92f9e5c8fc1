#include "operators/segment/segments.h"

#include "operators/common/indices.h"

namespace caffe2 {
namespace {

constexpr int64_t kMaxSegments = int64_t{1} << 31;  // ids are int32 in Caffe2

std::vector<int64_t> ReadIds(const Tensor& ids, int64_t entries) {
  CAFFE_ENFORCE(ids.dim() == 1 && ids.numel() == entries,
                "there must be one segment id for each of the ", entries, " entries, found shape ",
                ShapeString(ids.sizes()));
  return ReadIntegers(ids, "segment ids");
}

}  // namespace

Segments Segments::FromLengths(const Tensor& lengths) {
  CAFFE_ENFORCE(lengths.dim() == 1, "the lengths must be one-dimensional, found shape ",
                ShapeString(lengths.sizes()));
  const std::vector<int64_t> values = ReadIntegers(lengths, "lengths");
  Segments segments;
  segments.offsets_.reserve(values.size() + 1);
  segments.offsets_.push_back(0);
  for (size_t i = 0; i < values.size(); ++i) {
    CAFFE_ENFORCE(values[i] >= 0, "length ", i, " must not be negative, found ", values[i]);
    CAFFE_ENFORCE(values[i] <= std::numeric_limits<int64_t>::max() - segments.size(),
                  "the sum of the lengths overflows");
    segments.offsets_.push_back(segments.size() + values[i]);
  }
  return segments;
}

Segments Segments::FromLengths(const Tensor& lengths, int64_t entries) {
  Segments segments = FromLengths(lengths);
  CAFFE_ENFORCE(segments.size() == entries, "the lengths must add up to the ", entries,
                " entries, but add up to ", segments.size());
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
      CAFFE_ENFORCE(id < kMaxSegments, "a segment id must be less than ", kMaxSegments, ", found ",
                    id);
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
