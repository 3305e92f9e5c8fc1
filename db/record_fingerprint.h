// A line that tells the records of two databases apart.
#pragma once

#include <string>

#include "db/db.h"

namespace caffe2::db {

// For instance "60000 records (64 sampled: 51392 bytes, CRC-32 1f2e3d4c)". Reads up to 64 records,
// the first, the last and others at equal distances, and takes the checksum of their keys and
// values. The type of the database does not matter, the order of its records does. Throws IoError
// if a record cannot be read.
std::string RecordFingerprint(RecordIndex* index);

}  // namespace caffe2::db
