// Checks of a run's data that decode no image.
#pragma once

#include <string>
#include <vector>

#include "train/options.h"

namespace caffe2 {

// Throws UsageError if the classes of both sources have names, and these differ: labels are places
// in the lists of names. Throws as db::ClassNames.
void CheckClasses(const DataOptions& data);

// A line for each choice of data that works but is hardly meant: the same images for training and
// tests. Takes valid options.
std::vector<std::string> DataWarnings(const TrainOptions& options);

}  // namespace caffe2
