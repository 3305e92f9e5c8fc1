// A few bytes that tell which records were read.
#pragma once

#include <cstdint>
#include <string>

#include "db/holdout.h"

namespace caffe2::db {

// The number of keys and two sums of their 64-bit hashes. Two collections of keys have equal sums,
// in any order, if each key is in both the same number of times; otherwise equal sums are as
// unlikely as a collision of 128-bit hashes.
struct KeySums {
  int64_t count = 0;
  uint64_t first = 0, second = 0;

  void Add(const std::string& key);
  void Add(const KeySums& other);
  friend bool operator==(const KeySums&, const KeySums&) = default;
};

// The sums over all keys of a database, or of a part of it. Throws like CreateDB and NumHeldOut.
KeySums KeySumsOf(const std::string& db_type, const std::string& source, const Holdout& holdout);

}  // namespace caffe2::db
