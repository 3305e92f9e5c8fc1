// Fillers that draw numbers from the operator's random stream.
#pragma once

#include <cmath>

#include "operators/fill/filler_op.h"

namespace caffe2 {

// A Distribution has Prepare(operator, output), which may read the shape, and Sample(generator) or
// Fill(generator, n, data).
template <class Context, class Distribution>
class RandomFillOp final : public FillerOp<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  RandomFillOp(const OperatorDef& def, Workspace* ws)
      : FillerOp<Context>(def, ws), distribution_(ArgumentHelper(this->debug_def())) {}

 protected:
  bool Fill(Tensor* output) override {
    using T = typename Distribution::value_type;
    distribution_.Prepare(*this, output);
    T* data = output->template mutable_data<T>();
    const int64_t n = output->numel();
    if constexpr (requires { distribution_.Fill(context_.random(), n, data); }) {
      distribution_.Fill(context_.random(), n, data);
    } else {
      for (int64_t i = 0; i < n; ++i) data[i] = distribution_.Sample(context_.random());
    }
    return true;
  }

 private:
  Distribution distribution_;
};

}  // namespace caffe2
