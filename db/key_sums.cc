#include "db/key_sums.h"

#include <vector>

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

KeySums KeySumsOf(const std::string& db_type, const std::string& source, const Holdout& holdout) {
  const auto database = CreateDB(db_type, source, READ);
  std::vector<int64_t> part;
  const bool divided = holdout.share != 0;
  if (divided) part = RecordsOfPart(database->NewIndex()->NumRecords(), holdout);
  auto next = part.begin();
  KeySums sums;
  int64_t i = 0;
  for (const auto cursor = database->NewCursor(); cursor->Valid(); cursor->Next(), ++i) {
    if (divided && (next == part.end() || *next != i)) continue;
    sums.Add(cursor->key());
    if (divided) ++next;
  }
  return sums;
}

}  // namespace caffe2::db
