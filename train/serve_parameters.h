// The main function of a parameter server.
#pragma once

#include <functional>

#include "train/options.h"

namespace caffe2 {

// Joins the run and serves its workers until all have finished or are lost. Lost workers are
// logged; the others go on. `stop` returns the number of a signal that is to end the run of all
// workers, or 0; it may be null. Returns 0 or the number of the signal that ended the run.
//
// Publishes the status "serving" with the fields iteration (number of updates), workers,
// learning_rate, staleness (mean) and max_staleness_seen. Throws like Validate. Throws IoError,
// with the line that all processes report, if this or another server fails, or if all workers are
// lost.
int ServeParameters(const TrainOptions& options, const std::function<int()>& stop = nullptr);

}  // namespace caffe2
