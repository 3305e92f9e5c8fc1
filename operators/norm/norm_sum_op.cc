// NormSumNormRelu and its gradient on the CPU.
#include "operators/norm/norm_sum_op.h"

#include "caffe2/utils/narrow_float.h"
#include "caffe2/utils/parallel.h"

namespace caffe2 {
namespace {

using ImageTypes = TensorTypes<float, bfloat16>;
constexpr int64_t kNormSumGrain = 1 << 14;  // elements per thread

class NormSumNormCpuBase : public NormSumNormBase<CPUContext> {
 public:
  using NormSumNormBase::NormSumNormBase;

 protected:
  // Calls f(i, sum) for every element i, with the sum of the two normalized images.
  template <typename T, class F>
  void ForEachSum(const ChannelShape& shape, const F& f) const {
    const T *x = Input(0).data<T>(), *z = Input(2).data<T>();
    const float *factor = Row(1, kFactorRow, shape), *z_factor = Row(3, kFactorRow, shape);
    const float *shift = Row(1, kShiftRow, shape), *z_shift = Row(3, kShiftRow, shape);
    const int64_t run = shape.channels_last ? 1 : shape.spatial;
    ParallelFor(Input(0).numel(), kNormSumGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t c = i / run % shape.channels;
        f(i, Widen(x[i]) * factor[c] + (Widen(z[i]) * z_factor[c] + (shift[c] + z_shift[c])));
      }
    });
  }
};

class NormSumNormReluOp final : public NormSumNormCpuBase {
 public:
  using NormSumNormCpuBase::NormSumNormCpuBase;

  bool RunOnDevice() override { return ImageTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const ChannelShape shape = CheckInputs();
    Output(0)->ResizeLike(Input(0));
    T* y = Output(0)->template mutable_data<T>();
    ForEachSum<T>(shape, [y](int64_t i, float sum) { Store(sum < 0 ? 0.f : sum, y + i); });
    return true;
  }
};

class NormSumNormReluGradientOp final : public NormSumNormCpuBase {
 public:
  using NormSumNormCpuBase::NormSumNormCpuBase;

  bool RunOnDevice() override { return ImageTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const ChannelShape shape = CheckInputs();
    const T* dy = Input(4).data<T>();
    Output(0)->ResizeLike(Input(0));
    T* g = Output(0)->template mutable_data<T>();
    ForEachSum<T>(shape, [=](int64_t i, float sum) { Store(sum > 0 ? Widen(dy[i]) : 0.f, g + i); });
    for (const int image : {0, 2}) {
      NormalizeGradient<T> in;
      in.x = Input(image).data<T>();
      in.dy = g;
      in.mean = Row(image + 1, kMeanRow, shape);
      float* sums = ResizeBnParams(kBnParamsGradientRows, shape.channels, Output(1 + image / 2));
      float* d_scale = sums + kDScaleRow * shape.channels;
      ChannelGradientSums<T>(shape, in, sums + kDBiasRow * shape.channels, d_scale, nullptr);
      const float* inverse_std = Row(image + 1, kInverseStdRow, shape);
      for (int64_t c = 0; c < shape.channels; ++c) d_scale[c] *= inverse_std[c];
    }
    return true;
  }
};

std::vector<TensorShape> InferGradient(const OperatorDef& /*def*/,
                                       const std::vector<TensorShape>& inputs) {
  std::vector<TensorShape> outputs = {inputs[0]};
  for (const int input : {1, 3}) {
    outputs.push_back(inputs[input]);
    if (!outputs.back().unknown_shape()) outputs.back().set_dims(0, kBnParamsGradientRows);
  }
  return outputs;
}

void DescribeInputs(OpSchema& schema) {
  schema.ArgOrder()
      .Input(0, "X", "N x C x spatial (NCHW) or N x spatial x C (NHWC).")
      .Input(1, "bn_params",
             "How X is normalized, from SpatialBNFinalize: 6 x C, float; rows mean, 1 / deviation, "
             "scale, bias, factor, shift.")
      .Input(2, "Z", "X's shape and type.")
      .Input(3, "z_bn_params", "How Z is normalized, as bn_params.");
}

REGISTER_CPU_OPERATOR(NormSumNormRelu, NormSumNormReluOp);
OPERATOR_SCHEMA(NormSumNormRelu)
    .NumInputs(4)
    .NumOutputs(1)
    .AllowInplace({{0, 0}, {2, 0}})
    .FillUsing(DescribeInputs)
    .IdenticalTypeAndShapeOfInput(0)
    .Output(0, "Y", "X's shape and type.")
    .SetDoc(
        "Y = max(0, factor * X + shift + z_factor * Z + z_shift), the end of a residual block "
        "with a normalized shortcut. Runs in one pass over X, Z and Y.");

REGISTER_CPU_OPERATOR(NormSumNormReluGradient, NormSumNormReluGradientOp);
OPERATOR_SCHEMA(NormSumNormReluGradient)
    .NumInputs(5)
    .NumOutputs(3)
    .AllowInplace({{4, 0}})
    .FillUsing(DescribeInputs)
    .TensorInferenceFunction(InferGradient)
    .Input(4, "dY", "Gradient of Y, in its shape and type.")
    .Output(0, "g", "Gradient of the normalized X, and of the normalized Z, in X's shape and type.")
    .Output(1, "d_bn_params",
            "2 x C, float: the sum of g * (X - mean) / deviation, which is the gradient of X's "
            "scale, and the sum of g, which is the gradient of its bias.")
    .Output(2, "dz_bn_params", "The same of Z.")
    .SetDoc(
        "Gradient of NormSumNormRelu, in one pass over X, Z, dY and g. It computes the sum again. "
        "SpatialBNFinalizeGradient computes the gradients of X and Z from the results.");
NO_GRADIENT(NormSumNormReluGradient);

class GetNormSumNormReluGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    // One blob for both terms.
    const std::string g = GradientName(O(0)) + "_before_relu";
    SetDense(0, g);
    SetDense(2, g);
    return {CreateOperatorDef("NormSumNormReluGradient", "", {I(0), I(1), I(2), I(3), GO(0)},
                              {g, GI(1), GI(3)})};
  }
};
REGISTER_GRADIENT(NormSumNormRelu, GetNormSumNormReluGradient);

}  // namespace
}  // namespace caffe2
