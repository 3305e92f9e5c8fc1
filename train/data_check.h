// Checks of a run's data that decode no image. They take what is known of the sources from
// DataOptions::sources or, if that is null, call FindSources.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "db/source_info.h"
#include "train/options.h"

namespace caffe2 {

// Nothing stands for synthetic images and for a run without tests.
struct DataSources {
  std::optional<db::SourceInfo> train, test;
};

// Lists the sources. Throws as db::FindSourceInfo.
std::shared_ptr<const DataSources> FindSources(const DataOptions& data);

// Throws UsageError if a source is known to have more labels than the net, or if the classes of
// both sources have names and these differ: labels are places in the lists of names. Throws as
// db::FindSourceInfo.
void CheckClasses(const DataOptions& data, int num_labels);

// The names of the classes by label: of the training data or, if it has none, of the test data.
// Empty if neither has any. Throws as db::FindSourceInfo.
std::vector<std::string> TrainingClassNames(const DataOptions& data);

// A line for each choice of data that works but is hardly meant: the same images for training and
// tests; more labels than classes; files that are not read; classes in order, without --shuffle or
// with tests of the first images only. `num_labels_given`: the number is not the program's default.
// Takes valid options. Throws as db::FindSourceInfo.
std::vector<std::string> DataWarnings(const TrainOptions& options, bool num_labels_given);

}  // namespace caffe2
