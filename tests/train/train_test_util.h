// Small runs for the tests of the training loop.
#pragma once

#include <string>
#include <vector>

#include "train/options.h"
#include "train/trainer.h"

namespace caffe2::testing {

// Writes a minidb of `n` grey images of side x side pixels with `labels` labels: noise with a
// bright bar whose place is the label, so that a small network learns them.
void MakeImageDatabase(const std::string& path, int n, int side, int labels, uint64_t seed);

// A run of a small network over such a database; no output.
TrainOptions SmallRun(const std::string& database, const std::string& network, int side,
                      int labels);

// All parameters of the first replica, one after another.
std::vector<float> Parameters(Trainer* trainer);

// A checksum of all parameters, running statistics, moving averages and optimizer state of the
// trainer.
std::string StateDigest(Trainer* trainer);

}  // namespace caffe2::testing
