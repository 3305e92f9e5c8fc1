// SinusoidPositionEncoding: positions as waves of many lengths.
#include <cmath>

#include "caffe2/core/operator.h"
#include "operators/indices.h"

namespace caffe2 {
namespace {

class SinusoidPositionEncodingOp final : public Operator<CPUContext> {
 public:
  SinusoidPositionEncodingOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        size_(GetSingleArgument<int>("embedding_size", 100)),
        alpha_(GetSingleArgument<float>("alpha", 10000.f)),
        amplitude_(GetSingleArgument<float>("amplitude", 1.f)) {
    CAFFE_ENFORCE_GT(size_, 0, "the argument embedding_size");
    CAFFE_ENFORCE_GT(alpha_, 0, "the argument alpha");
  }
  bool RunOnDevice() override {
    const std::vector<int64_t> positions = ReadIntegers(Input(0), "positions");
    std::vector<int64_t> dims = Input(0).sizes();
    dims.push_back(size_);
    Output(0)->Resize(dims);
    float* y = Output(0)->mutable_data<float>();
    for (const int64_t position : positions) {
      for (int i = 0; i < size_; ++i) {
        const double angle =
            static_cast<double>(position) / std::pow(double{alpha_}, double(i) / size_);
        *y++ = static_cast<float>(amplitude_ * (i % 2 == 0 ? std::sin(angle) : std::cos(angle)));
      }
    }
    return true;
  }

 private:
  int size_;
  float alpha_, amplitude_;
};

}  // namespace

REGISTER_CPU_OPERATOR(SinusoidPositionEncoding, SinusoidPositionEncodingOp);
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
    .Arg("embedding_size", "(int > 0, default 100) Elements of a position.")
    .Arg("alpha", "(float > 0, default 10000) The longest wave.")
    .Arg("amplitude", "(float, default 1) The amplitude.")
    .Input(0, "positions", "int32 or int64, of any shape.")
    .Output(0, "output", "Float: the shape of the positions and embedding_size.");
SHOULD_NOT_DO_GRADIENT(SinusoidPositionEncoding);

}  // namespace caffe2
