// A line that tells the records of two databases apart.
#pragma once

#include <string>

#include "db/db.h"

namespace caffe2::db {

// Up to this many bytes of keys and values, a fingerprint covers all records of a database.
inline constexpr size_t kMaxWholeBytes = size_t{256} << 20;

// For instance "60000 records (all: 47519040 bytes, CRC-32 1f2e3d4c)", with the checksum of all
// keys and values in their order. A database that is larger than `max_whole_bytes`, judged by up to
// 64 records (the first, the last and others at equal distances), is not read whole: "1281167
// records (64 sampled: 7051392 bytes, CRC-32 1f2e3d4c)". The type of the database does not matter.
// Throws IoError if a record cannot be read.
std::string RecordFingerprint(RecordIndex* index, size_t max_whole_bytes = kMaxWholeBytes);

}  // namespace caffe2::db
