// Makes databases from the files of data sets.
#pragma once

#include <string>

#include "examples/doppio/data/kinds.h"

namespace caffe2::data {

struct PrepareOptions {
  std::string kind;                 // a name of Kinds()
  std::string input;                // folder or archive
  std::string output, test_output;  // databases of the two parts; at least one is given
  std::string db_type = "lmdb";
  int threads = 0;  // that decode images; 0: one for each core
  int scale = 0;    // shorter side of stored images; 0: the files as they are
  bool shuffle = false;
  int64_t seed = 0;
  int64_t max_bad_records = 0;
};

// Copies the records of the data set to the databases, decodes every image on the way, reads each
// database again and compares its checksum. Prints progress to stderr and a line for each database
// to stdout.
//
// A database appears under its name when it is complete. If a run is interrupted or fails, the next
// one with the same options goes on (unfinished_database.h). An existing database is kept, after it
// was compared with the source record by record. Returns the exit status: 0, or 128 + the number of
// a signal. Throws UsageError and IoError, also for an existing database that differs.
int Prepare(const PrepareOptions& options);

}  // namespace caffe2::data
