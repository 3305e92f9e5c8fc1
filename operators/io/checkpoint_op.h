// Checkpoint: saves blobs every `every` iterations.
#pragma once

#include <string>

#include "operators/io/load_save_op.h"

namespace caffe2 {

// The path for one iteration: replaces the integer conversion in `pattern` (%d, %i or %u, with flag
// 0, width and length as in printf), and %% by %. Throws EnforceNotMet for other conversions or for
// more than one.
std::string FormatCheckpointPath(const std::string& pattern, int64_t iteration);

// Saves its inputs if the iteration is a multiple of `every`. Input 0 is the iteration counter,
// int64 of one element.
template <class Context>
class CheckpointOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  CheckpointOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        pattern_(
            ResolveDBPath(*this, *ws, this->template GetSingleArgument<std::string>("db", ""))),
        every_(this->template GetSingleArgument<int>("every", 1)),
        arguments_(SaveArguments::Read(*this)) {
    CAFFE_ENFORCE(every_ > 0, "argument every must be positive, found ", every_);
    FormatCheckpointPath(pattern_, 0);  // throws now if the pattern is wrong
  }

  bool RunOnDevice() override {
    const Tensor& counter = Input(0);
    CAFFE_ENFORCE(counter.numel() == 1, "the iteration counter must have one element, found ",
                  counter.numel());
    Tensor host;
    host.CopyFrom(counter);
    const int64_t iteration = host.template data<int64_t>()[0];
    if (iteration % every_ == 0) {
      SaveBlobs(Inputs(), arguments_.names, arguments_.db_type,
                FormatCheckpointPath(pattern_, iteration), arguments_.options);
    }
    return true;
  }

 private:
  const std::string pattern_;
  const int every_;
  const SaveArguments arguments_;
};

}  // namespace caffe2
