// Warnings about settings that are allowed but probably not what the user meant.
#pragma once

#include <string>
#include <vector>

#include "train/options.h"

namespace caffe2 {

// A warning, which says what to write, if the mean of pixels, and perhaps their standard deviation,
// is between 0 and 1, as in other systems; else "". Here pixels go from 0 to 255 and colours are
// blue, green and red.
std::string DoubtOnPixels(const std::vector<float>& mean, const std::vector<float>& std);

// A warning for each odd setting of valid options; they name the flags.
std::vector<std::string> OddValues(const TrainOptions& options);

}  // namespace caffe2
