// The data sets that `doppio data prepare` knows by name.
#pragma once

#include <string>
#include <vector>

namespace caffe2::data {

// Which part of a data set.
enum class Part { kTrain, kTest };

struct Kind {
  std::string name;      // "cifar10"
  std::string db_type;   // type that reads its files (db/data_set.h)
  std::string files;     // what must be at --input
  std::string from;      // where people get the files
  bool one_part = true;  // the input is the training or the test part, not both
};
const std::vector<Kind>& Kinds();
// Throws UsageError, with a suggestion, for an unknown name.
const Kind& KindNamed(const std::string& name);

// The source of a part below `input`, as CreateDB(kind.db_type, ...) takes it. Throws IoError,
// which says what is missing and where it comes from, unless the files are there.
std::string SourceOf(const Kind& kind, const std::string& input, Part part);

}  // namespace caffe2::data
