// The data sets that `doppio data prepare` knows by name.
#pragma once

#include <string>
#include <vector>

#include "db/data_set.h"

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

// The data set of this kind at `input`. Throws IoError, which says what is missing and where it
// comes from, if there is none.
db::DataSet FindDataSetOf(const Kind& kind, const std::string& input);
// Throws IoError in the same way if a part is missing, or has the files of another kind.
void CheckPart(const Kind& kind, const db::DataSet& set, const std::string& input, Part part);

}  // namespace caffe2::data
