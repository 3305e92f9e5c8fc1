// Checks of a run's data that decode no image.
#pragma once

#include <string>
#include <vector>

#include "train/options.h"

namespace caffe2 {

// A line for each choice of data that works but is hardly meant: the same images for training and
// tests. Takes valid options.
std::vector<std::string> DataWarnings(const TrainOptions& options);

}  // namespace caffe2
