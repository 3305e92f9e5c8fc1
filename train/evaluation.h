// Runs that only test a model.
#pragma once

#include <string>

#include "train/options.h"
#include "train/report.h"

namespace caffe2 {

// Adapts the options of a run with schedule.evaluate, which needs no training data and writes no
// files. Throws UsageError, which names the flags, if there are no test images or no model (an
// exported one, or a checkpoint by `resume`), or if `auto_resume` or `finetune` is set.
TrainOptions ForEvaluation(TrainOptions options);

// "Evaluated a.mdl: accuracy 0.9871, top-5 accuracy 0.9998, loss 0.0412 (10000 images of test)".
// There is no top-5 accuracy for at most five labels.
std::string DescribeEvaluation(const TrainOptions& options, const TestReport& report);

}  // namespace caffe2
