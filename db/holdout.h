// Holds out some records of a database for tests; the others are for training.
#pragma once

#include <cstdint>
#include <vector>

namespace caffe2::db {

struct Holdout {
  double share = 0;       // of held-out records, at least 0 and below 1; 0: no division
  bool held_out = false;  // which part: the held-out records, or all others
};

// The number of held-out records out of `records`: the share, rounded, but at least one and not
// all; 0 for a share of 0. Throws EnforceNotMet for a share out of range, or for fewer than two
// records to divide.
int64_t NumHeldOut(int64_t records, double share);

// The indices in the database of the records of one part, ascending; empty if nothing is divided.
// The database is cut into NumHeldOut ranges of equal size, and in each range a hash chooses the
// one record to hold out (stratified sampling). So classes that come one after another each lose
// their share, give or take one or two records, and the parts depend on nothing but the number
// of records and the share. Throws like NumHeldOut.
std::vector<int64_t> RecordsOfPart(int64_t records, const Holdout& holdout);

}  // namespace caffe2::db
