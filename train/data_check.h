// Checks of a run's data that need no decoding of images. They use DataOptions::sources or, if that
// is null, call FindSources.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "db/source_info.h"
#include "train/options.h"

namespace caffe2 {

// The sources of a run; nullopt for synthetic images, and for `test` in a run without tests.
struct DataSources {
  std::optional<db::SourceInfo> train, test;
};

// Lists the sources. Throws like db::FindSourceInfo.
std::shared_ptr<const DataSources> FindSources(const DataOptions& data);

// Throws UsageError if a source is known to have more labels than the net, or if the classes of
// both sources have names and these differ: a label is an index into the list of names. Throws like
// db::FindSourceInfo.
void CheckClasses(const DataOptions& data, int num_labels);

// The names of the classes by label: of the training data or, if it has none, of the test data.
// Empty if neither has any. Throws like db::FindSourceInfo.
std::vector<std::string> TrainingClassNames(const DataOptions& data);

// A line for each choice of data that works but is probably not meant: the same images for training
// and tests; more labels than classes; files that are not read; classes in order, without --shuffle
// or with tests of the first images only. `num_labels_given`: the user has given --num_labels.
// Takes valid options. Throws like db::FindSourceInfo.
std::vector<std::string> DataWarnings(const TrainOptions& options, bool num_labels_given);

}  // namespace caffe2
