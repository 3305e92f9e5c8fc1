// Divides the records of a database into some for training and some, held out, for tests.
#pragma once

#include <cstdint>
#include <vector>

namespace caffe2::db {

struct Holdout {
  double share = 0;  // of the records that are held out, at least 0 and below 1; 0: no division
  bool held_out = false;  // take the records that are held out instead of all others
};

// The number of records that are held out of `records`: the share, rounded, but one at least and
// not all. Throws EnforceNotMet for a share out of range, or for fewer than two records to divide.
int64_t NumHeldOut(int64_t records, double share);

// The indices in the database of the records of one part, ascending; empty if nothing is divided.
// The database is cut into NumHeldOut ranges of equal size, and of each range a hash chooses the
// one record that is held out (stratified sampling). So classes that come one after another each
// lose their share, give or take one record or two, and the parts depend on nothing but the number
// of records and the share. Throws as NumHeldOut.
std::vector<int64_t> RecordsOfPart(int64_t records, const Holdout& holdout);

}  // namespace caffe2::db
