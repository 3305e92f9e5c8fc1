// LengthsTopK: the k largest elements of each segment.
#include "operators/segment/lengths_top_k_op.h"

#include <algorithm>

#include "operators/common/gradient_rule.h"
#include "operators/common/host_device_op.h"
#include "operators/reduce/select_best.h"

namespace caffe2 {

void TakeOfSegments(const Tensor& lengths, int64_t n, int64_t k, const float* x, float* values,
                    int32_t* indices, CPUContext* /*context*/) {
  const Segments segments = Segments::FromLengths(lengths, n);
  std::fill_n(values, segments.count() * k, 0.f);
  std::fill_n(indices, segments.count() * k, -1);
  BestElements<float> best;
  for (int64_t s = 0; s < segments.count(); ++s, values += k, indices += k) {
    const int64_t length = segments.length(s), taken = std::min(k, length);
    const std::vector<int64_t>& order = best.Select(x, length, 1, taken);
    for (int64_t i = 0; i < taken; ++i) {
      indices[i] = static_cast<int32_t>(order[i]);
      values[i] = x[order[i]];
    }
    x += length;
  }
}

REGISTER_CPU_OPERATOR(LengthsTopK, LengthsTopKOp<CPUContext>);
REGISTER_CPU_OPERATOR(LengthsTopKGradient, LengthsTopKGradientOp<CPUContext>);
OPERATOR_SCHEMA(LengthsTopK)
    .NumInputs(2)
    .NumOutputs(2)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      if (in[1].dims_size() != 1) {
        return std::vector<TensorShape>{UnknownTensorShape(), UnknownTensorShape()};
      }
      const std::vector<int64_t> dims{in[1].dims(0),
                                      ArgumentHelper(def).GetSingleArgument<int64_t>("k", -1)};
      return std::vector<TensorShape>{CreateTensorShape(dims, TensorProto::FLOAT),
                                      CreateTensorShape(dims, TensorProto::INT32)};
    })
    .SetDoc(
        "The k largest elements of each segment, in the order of TopK. If a segment has fewer "
        "elements, the other results have value 0 and index -1.")
    .Arg<int>("k", "(> 0) The number of elements.", true)
    .Input(0, "DATA", "Float, one-dimensional.")
    .Input(1, "LENGTHS", "int32 or int64: the number of elements of each segment.")
    .Output(0, "TopKValue", "Segments x k: the values.")
    .Output(1, "TopKIndices", "int32: their positions in their segments.");
OPERATOR_SCHEMA(LengthsTopKGradient)
    .NumInputs(3)
    .NumOutputs(1)
    .SetDoc("The gradient of LengthsTopK.")
    .Arg<int>("k", "As in the forward operator.", true)
    .Input(0, "LENGTHS", "As in the forward operator.")
    .Input(1, "TopKIndices", "The second output of the forward operator.")
    .Input(2, "dTopKValue", "The gradient of the values.")
    .Output(0, "dDATA", "The gradient of DATA.");
REGISTER_GRADIENT(LengthsTopK, GradientRule<"I1 O1 GO0 -> GI0">);

}  // namespace caffe2
