#include "operators/optimizer/clip_by_global_norm_op.h"

#include <cmath>
#include <limits>

#include "caffe2/utils/parallel.h"
#include "operators/optimizer/sum_of_squares.h"

namespace caffe2 {

template <>
void ClipByGlobalNorm(const std::vector<ClippedArray>& arrays, float max_norm, float* norm,
                      Tensor* /*scratch*/, CPUContext* /*context*/) {
  constexpr int64_t kGrain = 1 << 14;
  double squares = 0;
  for (const ClippedArray& array : arrays) squares += SumOfSquares(array.size, array.data);
  *norm = static_cast<float>(std::sqrt(squares));
  if (!(*norm > max_norm) || !std::isfinite(*norm)) return;
  const float factor = max_norm / *norm;
  for (const ClippedArray& array : arrays) {
    ParallelFor(array.size, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) array.data[i] *= factor;
    });
  }
}

REGISTER_CPU_OPERATOR(ClipByGlobalNorm, ClipByGlobalNormOp<CPUContext>);

OPERATOR_SCHEMA(ClipByGlobalNorm)
    .NumInputsOutputs([](int in, int out) { return in > 0 && out == in + 1; })
    .EnforceInplace([](int in, int out) { return in == out; })
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      std::vector<TensorShape> out = in;
      out.push_back(CreateTensorShape({1}, TensorProto::FLOAT));
      return out;
    })
    .SetDoc(
        "Scales gradients by min(1, max_norm / norm), where norm is the L2 norm of all their "
        "elements together (Pascanu et al., \"On the difficulty of training recurrent neural "
        "networks\", ICML 2013; PyTorch's clip_grad_norm_). Gradients whose norm is not finite "
        "stay as they are.")
    .Arg<float>("max_norm", "(> 0) The largest norm that is left as it is.")
    .Input(0, "gradient_0", "Float gradients of any shapes.")
    .Output(0, "gradient_0",
            "The scaled gradients, the same blobs; then norm, a float tensor of "
            "one element: the norm before scaling.");
SHOULD_NOT_DO_GRADIENT(ClipByGlobalNorm);

}  // namespace caffe2
