// Iter, AtomicIter: the iteration counter; CreateMutex: the lock it may need.
#pragma once

#include "caffe2/core/operator.h"

namespace caffe2 {

// Adds one to an int64 counter of one element, which is always on the host.
template <class Context>
class IterOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(IterOp);
  bool RunOnDevice() override;
};

// IterOp under a mutex, for concurrent nets that share the counter.
template <class Context>
class AtomicIterOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(AtomicIterOp);
  bool RunOnDevice() override;
};

// Makes a mutex, as a blob of std::unique_ptr<std::mutex>.
template <class Context>
class CreateMutexOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(CreateMutexOp);
  bool RunOnDevice() override;
};

}  // namespace caffe2
