// Perplexity of a model, from the probabilities that it gave to the observed classes.
#include <cmath>

#include "caffe2/core/operator.h"
#include "operators/common/cpu_only.h"

namespace caffe2 {
namespace {

class PerplexityOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.dim() == 1, "the probabilities must be one-dimensional, found shape ",
                  ShapeString(X.sizes()));
    const float* x = X.data<float>();
    // The mean of the logarithms: the product would underflow.
    double sum = 0;
    for (int64_t i = 0; i < X.numel(); ++i) sum += std::log(static_cast<double>(x[i]));
    Output(0)->Resize();
    *Output(0)->mutable_data<float>() =
        X.numel() == 0 ? 1.f : static_cast<float>(std::exp(-sum / static_cast<double>(X.numel())));
    return true;
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(Perplexity, PerplexityOp);
OPERATOR_SCHEMA(Perplexity)
    .NumInputs(1)
    .NumOutputs(1)
    .ScalarType(TensorProto::FLOAT)
    .SetDoc("The inverse of the geometric mean of probabilities; 1 for an empty input.")
    .Input(0, "probabilities", "Float, one-dimensional.")
    .Output(0, "output", "A float scalar.")
    .CpuOnly(cpu_only::kMeasures);
SHOULD_NOT_DO_GRADIENT(Perplexity);

}  // namespace caffe2
