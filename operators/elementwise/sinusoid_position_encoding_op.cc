#include "operators/elementwise/sinusoid_position_encoding_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(SinusoidPositionEncoding, SinusoidPositionEncodingOp<CPUContext>);
OPERATOR_SCHEMA(SinusoidPositionEncoding)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      std::vector<int64_t> dims = GetDimsVector(in[0]);
      dims.push_back(ArgumentHelper(def).GetSingleArgument<int>("embedding_size", 100));
      return std::vector<TensorShape>{CreateTensorShape(dims, TensorProto::FLOAT)};
    })
    .SetDoc(
        "Encodes positions p: element i is amplitude * f(p / alpha^(i / embedding_size)), with f "
        "the sine for even i, the cosine for odd ones (after Vaswani et al., NIPS 2017).")
    .Arg<int>("embedding_size", "(> 0, default 100) Elements of a position.")
    .Arg<float>("alpha", "(> 0, default 10000) The base: a larger one makes longer waves.")
    .Arg<float>("amplitude", "(default 1) The amplitude.")
    .Input(0, "positions", "int32 or int64, of any shape.")
    .Output(0, "output", "Float: the shape of the positions and embedding_size.");
SHOULD_NOT_DO_GRADIENT(SinusoidPositionEncoding);

}  // namespace caffe2
