// Inputs that hold an object of another operator: a mutex, a counter, a queue.
#pragma once

#include "caffe2/core/operator.h"

namespace caffe2 {

// The pointer to the `what` in input i, which the operator `creator` makes. Throws EnforceNotMet,
// with the name of the blob and what to run, if it is null.
template <class Pointer>
const Pointer& CreatedObject(const OperatorBase& op, int i, const char* what, const char* creator) {
  const Pointer& object = op.Input<Pointer>(i);
  CAFFE_ENFORCE(object != nullptr, "the ", what, " \"", op.debug_def().input(i),
                "\" was not created; run ", creator, " first");
  return object;
}

}  // namespace caffe2
