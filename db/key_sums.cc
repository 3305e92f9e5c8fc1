#include "db/key_sums.h"

#include "caffe2/utils/hash64.h"
#include "db/db.h"

namespace caffe2::db {

void KeySums::Add(const std::string& key) {
  ++count;
  first += Hash64(key.data(), key.size(), 1);
  second += Hash64(key.data(), key.size(), 2);
}

void KeySums::Add(const KeySums& other) {
  count += other.count;
  first += other.first;
  second += other.second;
}

KeySums KeySumsOf(const std::string& db_type, const std::string& source) {
  const auto database = CreateDB(db_type, source, READ);
  KeySums sums;
  for (const auto cursor = database->NewCursor(); cursor->Valid(); cursor->Next()) {
    sums.Add(cursor->key());
  }
  return sums;
}

}  // namespace caffe2::db
