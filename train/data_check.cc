#include "train/data_check.h"

#include <filesystem>

#include "caffe2/core/logging.h"
#include "db/data_set.h"
#include "train/input.h"

namespace caffe2 {
namespace {

bool IsSameSource(const std::string& a, const std::string& b) {
  namespace fs = std::filesystem;
  std::error_code error;  // a path within an archive is no file
  return fs::path(a).lexically_normal() == fs::path(b).lexically_normal() ||
         fs::equivalent(a, b, error);
}

}  // namespace

void CheckClasses(const DataOptions& data) {
  if (data.train_data == kSyntheticData || data.test_data.empty()) return;
  const auto classes_of = [&](const char* flag, const std::string& source) {
    return db::NamedClasses{MakeString(flag, " ", source), db::ClassNames(data.db_type, source)};
  };
  db::CheckSameClasses(classes_of("--train_data", data.train_data),
                       classes_of("--test_data", data.test_data));
}

std::vector<std::string> DataWarnings(const TrainOptions& options) {
  const DataOptions& data = options.data;
  std::vector<std::string> warnings;
  if (data.train_data != kSyntheticData && !data.test_data.empty() &&
      IsSameSource(data.train_data, data.test_data)) {
    warnings.push_back(MakeString("--train_data and --test_data are the same images, ",
                                  data.train_data,
                                  ": tests show how well the model knows these, not how it does on "
                                  "new ones"));
  }
  return warnings;
}

}  // namespace caffe2
