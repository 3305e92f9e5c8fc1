// The limit of a loop's iterations, for nets that must not run for ever.
#pragma once

#include "caffe2/core/argument.h"
#include "caffe2/core/logging.h"
#include "caffe2/core/operator_schema.h"

namespace caffe2 {

// The argument max_iterations of a loop operator.
class IterationLimit {
 public:
  explicit IterationLimit(const OperatorDef& def)
      : limit_(ArgumentHelper(def).GetSingleArgument<int64_t>("max_iterations", 0)) {}

  // Call it before each iteration, with the number of iterations done. Throws EnforceNotMet at the
  // limit.
  void Check(int64_t done) const {
    CAFFE_ENFORCE(limit_ <= 0 || done < limit_, "the loop has not ended after max_iterations (",
                  limit_, ")");
  }

  static void Describe(OpSchema& schema) {
    schema.Arg("max_iterations",
               "Iterations after which a run fails if its loop has not ended. 0 (default): no "
               "limit. Not in Caffe2.");
  }

 private:
  int64_t limit_;
};

}  // namespace caffe2
