// The limit of a loop's iterations, for nets that must end.
#pragma once

#include "caffe2/core/argument.h"
#include "caffe2/core/logging.h"
#include "caffe2/core/operator_schema.h"
#include "caffe2/core/workspace.h"

namespace caffe2 {

// The argument max_iterations of a loop operator in the workspace `ws`.
class IterationLimit {
 public:
  IterationLimit(const OperatorDef& def, const Workspace* ws)
      : limit_(ArgumentHelper(def).GetSingleArgument<int64_t>("max_iterations", 0)), ws_(ws) {}

  // Call it before each iteration, with the number of iterations done. Throws EnforceNotMet at the
  // limit, and Error if the workspace was asked to stop (a body without operators does not check).
  void Check(int64_t done) const {
    CAFFE_ENFORCE(limit_ <= 0 || done < limit_, "the loop has not ended after max_iterations (",
                  limit_, ")");
    if (ws_->StopRequested()) throw Error("stopped on request");
  }

  static void Describe(OpSchema& schema) {
    schema.Arg<int>("max_iterations",
                    "Iterations after which a run fails if its loop has not ended. 0 (default): no "
                    "limit. Not in Caffe2.");
  }

 private:
  int64_t limit_;
  const Workspace* ws_;
};

}  // namespace caffe2
