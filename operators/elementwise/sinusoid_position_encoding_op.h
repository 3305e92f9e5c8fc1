// SinusoidPositionEncoding: encodes positions as sines and cosines of many wavelengths (after
// Vaswani et al., NIPS 2017). Positions, int32 or int64 of any shape, -> float [shape of the
// positions, embedding_size].
#pragma once

#include <vector>

#include "operators/common/element_type.h"
#include "operators/common/host_device_op.h"
#include "operators/elementwise/transform_functions.h"

namespace caffe2 {

template <class Context>
class SinusoidPositionEncodingOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SinusoidPositionEncodingOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        size_(this->template GetSingleArgument<int>("embedding_size", 100)),
        alpha_(this->template GetSingleArgument<float>("alpha", 10000.f)),
        amplitude_(this->template GetSingleArgument<float>("amplitude", 1.f)) {
    CAFFE_ENFORCE(size_ > 0, "argument embedding_size must be positive, found ", size_);
    CAFFE_ENFORCE(alpha_ > 0, "argument alpha must be positive, found ", alpha_);
  }
  bool RunOnDevice() override { return IndexTypes::Dispatch(this, Input(0).dtype()); }
  template <typename Index>
  bool DoRunWithType() {
    const Tensor& positions = Input(0);
    const Index* position = positions.template data<Index>();
    std::vector<int64_t> dims = positions.sizes();
    dims.push_back(size_);
    Output(0)->Resize(dims);
    ForEach(Output(0)->numel(),
            SinusoidElements<Index>{size_, alpha_, amplitude_, position,
                                    Output(0)->template mutable_data<float>()},
            &context_);
    return true;
  }

 private:
  int size_;
  float alpha_, amplitude_;
};

}  // namespace caffe2
