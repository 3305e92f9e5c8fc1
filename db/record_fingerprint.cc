#include "db/record_fingerprint.h"

#include <algorithm>

#include "caffe2/core/logging.h"
#include "caffe2/utils/crc32.h"

namespace caffe2::db {

std::string RecordFingerprint(RecordIndex* index) {
  constexpr int64_t kMostSamples = 64;
  const int64_t records = index->NumRecords(), samples = std::min(records, kMostSamples);
  std::string key, value;
  size_t bytes = 0;
  uint32_t crc = 0;
  for (int64_t i = 0; i < samples; ++i) {
    index->Read(samples > 1 ? i * (records - 1) / (samples - 1) : 0, &key, &value);
    for (const std::string* part : {&key, &value}) {
      crc = Crc32(part->data(), part->size(), crc);
      bytes += part->size();
    }
  }
  return MakeString(records, " records (", samples, " sampled: ", bytes, " bytes, CRC-32 ",
                    std::hex, crc, ")");
}

}  // namespace caffe2::db
