#include "train/data_check.h"

#include <filesystem>
#include <optional>

#include "caffe2/core/logging.h"
#include "caffe2/core/usage_error.h"
#include "db/data_set.h"
#include "train/input.h"

namespace caffe2 {
namespace {

// What a flag names, unless it names synthetic images or nothing.
struct FlagSource {
  std::string what;  // "--train_data photos"
  db::SourceInfo info;
};

std::optional<FlagSource> SourceOf(const char* flag, const std::string& source,
                                   const DataOptions& data) {
  if (source.empty() || source == kSyntheticData) return std::nullopt;
  return FlagSource{MakeString(flag, " ", source), db::FindSourceInfo(data.db_type, source)};
}

bool IsSameSource(const std::string& a, const std::string& b) {
  namespace fs = std::filesystem;
  std::error_code error;  // a path within an archive is no file
  return fs::path(a).lexically_normal() == fs::path(b).lexically_normal() ||
         fs::equivalent(a, b, error);
}

}  // namespace

void CheckClasses(const DataOptions& data, int num_labels) {
  const auto train = SourceOf("--train_data", data.train_data, data);
  const auto test = SourceOf("--test_data", data.test_data, data);
  for (const auto* source : {&train, &test}) {
    if (!*source) continue;
    CheckUsage((*source)->info.num_labels <= num_labels, (*source)->what, " has ",
               (*source)->info.num_labels, " classes, --num_labels is ", num_labels);
  }
  if (train && test) {
    db::CheckSameClasses({train->what, train->info.names}, {test->what, test->info.names});
  }
}

std::vector<std::string> TrainingClassNames(const DataOptions& data) {
  for (const std::string& path : {data.train_data, data.test_data}) {
    const auto source = SourceOf("", path, data);
    if (source && !source->info.names.empty()) return source->info.names;
  }
  return {};
}

std::vector<std::string> DataWarnings(const TrainOptions& options, bool num_labels_given) {
  const DataOptions& data = options.data;
  const auto train = SourceOf("--train_data", data.train_data, data);
  const auto test = SourceOf("--test_data", data.test_data, data);
  std::vector<std::string> warnings;
  if (train && test && IsSameSource(data.train_data, data.test_data)) {
    warnings.push_back(MakeString("--train_data and --test_data are the same images, ",
                                  data.train_data,
                                  ": tests show how well the model knows these, not how it does on "
                                  "new ones"));
  }
  const int num_labels = options.model.shape.num_labels;
  if (train && train->info.num_labels > 0 && train->info.num_labels < num_labels) {
    warnings.push_back(MakeString(
        train->what, " has ", train->info.num_labels, " classes, --num_labels is ", num_labels,
        num_labels_given ? "" : " (the default)", ": the model also has labels without images"));
  }
  for (const auto* source : {&train, &test}) {
    const std::string text = *source ? db::Describe((*source)->info.left_out, (*source)->what) : "";
    if (!text.empty()) warnings.push_back(text);
  }
  if (train && train->info.by_class && !data.shuffle) {
    warnings.push_back(train->what +
                       " comes class after class: in this order a model learns hardly anything. "
                       "--shuffle gives another order in each epoch");
  }
  const int64_t size = options.schedule.test_epoch_size;
  if (test && test->info.by_class && size > 0 && size < NumRecords(data.db_type, data.test_data)) {
    warnings.push_back(MakeString("--test_epoch_size ", size, " tests the first images of ",
                                  test->what,
                                  ", which comes class after class: the last classes "
                                  "are not tested. Leave the flag out, or prepare a database with "
                                  "doppio data prepare --shuffle"));
  }
  return warnings;
}

}  // namespace caffe2
