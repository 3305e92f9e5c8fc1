#include "db/record_fingerprint.h"

#include <algorithm>

#include "caffe2/core/logging.h"
#include "caffe2/utils/crc32.h"

namespace caffe2::db {
namespace {

// The number of bytes of some records, and their checksum.
class RecordSum {
 public:
  void Add(RecordIndex* index, int64_t i) {
    index->Read(i, &key_, &value_);
    for (const std::string* part : {&key_, &value_}) {
      crc_ = Crc32(part->data(), part->size(), crc_);
      bytes_ += part->size();
    }
  }

  size_t bytes() const { return bytes_; }
  std::string Describe(int64_t records, const std::string& which) const {
    return MakeString(records, " records (", which, ": ", bytes_, " bytes, CRC-32 ", std::hex, crc_,
                      ")");
  }

 private:
  std::string key_, value_;
  size_t bytes_ = 0;
  uint32_t crc_ = 0;
};

}  // namespace

std::string RecordFingerprint(RecordIndex* index, size_t max_whole_bytes) {
  constexpr int64_t kMaxSamples = 64;
  const int64_t records = index->NumRecords(), samples = std::min(records, kMaxSamples);
  RecordSum sampled;
  for (int64_t i = 0; i < samples; ++i) {
    sampled.Add(index, samples > 1 ? i * (records - 1) / (samples - 1) : 0);
  }
  // If all records are as large as the samples.
  const double expected = static_cast<double>(sampled.bytes()) * static_cast<double>(records);
  if (expected > static_cast<double>(max_whole_bytes) * static_cast<double>(samples)) {
    return sampled.Describe(records, MakeString(samples, " sampled"));
  }
  RecordSum all;
  for (int64_t i = 0; i < records; ++i) {
    all.Add(index, i);
    // The samples are smaller than most.
    if (all.bytes() > max_whole_bytes) {
      return sampled.Describe(records, MakeString(samples, " sampled"));
    }
  }
  return all.Describe(records, "all");
}

}  // namespace caffe2::db
