// ScaleBlobs (several tensors times a number) and Bucketize.
#include <algorithm>
#include <climits>

#include "caffe2/core/operator.h"

namespace caffe2 {
namespace {

class ScaleBlobsOp final : public Operator<CPUContext> {
 public:
  ScaleBlobsOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), scale_(GetSingleArgument<float>("scale", 1.f)) {}
  bool RunOnDevice() override {
    for (int k = 0; k < InputSize(); ++k) {
      const Tensor& X = Input(k);
      Tensor* Y = Output(k);
      Y->ResizeLike(X);
      const float* x = X.data<float>();
      float* y = Y->mutable_data<float>();
      for (int64_t i = 0; i < X.numel(); ++i) y[i] = scale_ * x[i];
    }
    return true;
  }

 private:
  float scale_;
};

class BucketizeOp final : public Operator<CPUContext> {
 public:
  BucketizeOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), boundaries_(GetRepeatedArgument<float>("boundaries")) {
    CAFFE_ENFORCE(!boundaries_.empty(), "the argument boundaries is missing");
    CAFFE_ENFORCE(std::is_sorted(boundaries_.begin(), boundaries_.end()),
                  "the boundaries must rise");
  }
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    Tensor* Y = Output(0);
    Y->ResizeLike(X);
    const float* x = X.data<float>();
    int32_t* y = Y->mutable_data<int32_t>();
    for (int64_t i = 0; i < X.numel(); ++i) {
      y[i] = static_cast<int32_t>(std::lower_bound(boundaries_.begin(), boundaries_.end(), x[i]) -
                                  boundaries_.begin());
    }
    return true;
  }

 private:
  std::vector<float> boundaries_;
};

}  // namespace

REGISTER_CPU_OPERATOR(ScaleBlobs, ScaleBlobsOp);
REGISTER_CPU_OPERATOR(Bucketize, BucketizeOp);

OPERATOR_SCHEMA(ScaleBlobs)
    .NumInputs(1, INT_MAX)
    .NumOutputs(1, INT_MAX)
    .NumInputsOutputs([](int inputs, int outputs) { return inputs == outputs; })
    .AllowOneToOneInplace()
    .IdenticalTypeAndShape()
    .SetDoc("Multiplies each of several tensors with a number.")
    .Arg("scale", "(float, default 1) The number.")
    .Input(0, "X", "Float tensors of any shapes.")
    .Output(0, "Y", "As many, of the same shapes; may overwrite the inputs.");
OPERATOR_SCHEMA(Bucketize)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{CreateTensorShape(GetDimsVector(in[0]), TensorProto::INT32)};
    })
    .SetDoc("The number of boundaries that are less than each element: b[i - 1] < x <= b[i].")
    .Arg("boundaries", "(floats) Rising numbers.", /*required=*/true)
    .Input(0, "X", "A float tensor of any shape.")
    .Output(0, "indices", "int32, of the shape of X.");
SHOULD_NOT_DO_GRADIENT(ScaleBlobs);
NO_GRADIENT(Bucketize);

}  // namespace caffe2
