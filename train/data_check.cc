#include "train/data_check.h"

#include <filesystem>
#include <utility>

#include "caffe2/core/logging.h"
#include "caffe2/core/usage_error.h"
#include "train/input.h"

namespace caffe2 {
namespace {

std::optional<db::SourceInfo> InfoOf(const std::string& source, const std::string& type) {
  if (source.empty() || source == kSyntheticData) return std::nullopt;
  return db::FindSourceInfo(type, source);
}

std::shared_ptr<const DataSources> SourcesOf(const DataOptions& data) {
  return data.sources ? data.sources : FindSources(data);
}

// The names of both sources in messages.
std::string TrainFlag(const DataOptions& data) { return "--train_data " + data.train_data; }
std::string TestFlag(const DataOptions& data) {
  return (data.holdout > 0 ? "--train_data " : "--test_data ") + data.test_data;
}

bool IsSameSource(const std::string& a, const std::string& b) {
  namespace fs = std::filesystem;
  std::error_code error;  // a path within an archive is no file
  return fs::path(a).lexically_normal() == fs::path(b).lexically_normal() ||
         fs::equivalent(a, b, error);
}

}  // namespace

std::shared_ptr<const DataSources> FindSources(const DataOptions& data) {
  auto sources = std::make_shared<DataSources>();
  sources->train = InfoOf(data.train_data, data.db_type);
  // With --holdout both are the same, except in a run that only tests.
  const bool same = sources->train && data.test_data == data.train_data;
  sources->test = same ? sources->train : InfoOf(data.test_data, data.db_type);
  return sources;
}

void CheckClasses(const DataOptions& data, int num_labels) {
  const auto sources = SourcesOf(data);
  const auto& train = sources->train;
  const auto& test = sources->test;
  for (const auto& [what, info] :
       {std::pair(TrainFlag(data), &train), std::pair(TestFlag(data), &test)}) {
    if (!*info) continue;
    CheckUsage((*info)->num_labels <= num_labels, what, " has ", (*info)->num_labels,
               " classes, --num_labels is ", num_labels);
  }
  if (train && test) {
    db::CheckSameClasses({TrainFlag(data), train->names}, {TestFlag(data), test->names});
  }
}

std::vector<std::string> TrainingClassNames(const DataOptions& data) {
  const auto sources = SourcesOf(data);
  for (const auto* info : {&sources->train, &sources->test}) {
    if (*info && !(*info)->names.empty()) return (*info)->names;
  }
  return {};
}

std::vector<std::string> DataWarnings(const TrainOptions& options, bool num_labels_given) {
  const DataOptions& data = options.data;
  const auto sources = SourcesOf(data);
  const auto& train = sources->train;
  const auto& test = sources->test;
  std::vector<std::string> warnings;
  const bool divided = train && data.holdout > 0;  // so both are the same
  if (train && test && !divided && IsSameSource(data.train_data, data.test_data)) {
    warnings.push_back(MakeString("--train_data and --test_data are the same images, ",
                                  data.train_data,
                                  ": tests show how well the model knows these, not how it does on "
                                  "new ones"));
  }
  const int num_labels = options.model.shape.num_labels;
  if (train && train->num_labels > 0 && train->num_labels < num_labels) {
    warnings.push_back(MakeString(
        TrainFlag(data), " has ", train->num_labels, " classes, --num_labels is ", num_labels,
        num_labels_given ? "" : " (the default)", ": the model also has labels without images"));
  }
  for (const auto& [what, info] :
       {std::pair(TrainFlag(data), &train), std::pair(TestFlag(data), &test)}) {
    if (divided && info == &test) continue;
    if (!*info) continue;
    for (const std::string& text :
         {db::Describe((*info)->left_out, what), db::DescribeMissing((*info)->missing, what)}) {
      if (!text.empty()) warnings.push_back(text);
    }
  }
  if (train && train->by_class && !data.shuffle) {
    warnings.push_back(TrainFlag(data) +
                       " comes class after class: in this order a model learns hardly anything. "
                       "--shuffle gives another order in each epoch");
  }
  const int64_t size = options.schedule.test_epoch_size;
  if (test && test->by_class && size > 0 &&
      size < NumRecords(data.db_type, data.test_data, PartOf(data, /*train=*/false))) {
    warnings.push_back(MakeString("--test_epoch_size ", size, " tests the first images of ",
                                  TestFlag(data),
                                  ", which comes class after class: the last classes "
                                  "are not tested. Leave the flag out, or prepare a database with "
                                  "doppio data prepare --shuffle"));
  }
  return warnings;
}

}  // namespace caffe2
