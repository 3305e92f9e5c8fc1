#include "operators/norm/layer_norm_op.h"

#include <cmath>

#include "caffe2/utils/parallel.h"
#include "operators/common/row_shape.h"
#include "operators/norm/channel_affine.h"
#include "operators/norm/row_moments.h"
#include "operators/norm/short_row_sums.h"

namespace caffe2 {
namespace {

constexpr int64_t kGrain = 1 << 13;  // elements per thread

// Normalizes kShortRowCount rows, and writes the mean and the deviation of each.
CAFFE2_SIMD_CLONES void NormalizeShortBlock(int64_t n, float epsilon, const float* in, float* out,
                                            float* mean, float* stdev) {
  float scale[kShortRowCount];
  double centre[kShortRowCount], squares[kShortRowCount];
  const ShortRowSums rows(n, in);
  const auto count = static_cast<double>(n);
  rows.Add(centre, [](double x, int64_t) { return x; });
  for (double& value : centre) value /= count;
  rows.Add(squares, [&centre](double x, int64_t r) {
    const double distance = x - centre[r];
    return distance * distance;
  });
  for (int64_t r = 0; r < kShortRowCount; ++r) {
    mean[r] = static_cast<float>(centre[r]);
    stdev[r] = static_cast<float>(std::sqrt(squares[r] / count + epsilon));
    scale[r] = 1 / stdev[r];
  }
  MapShortRows(n, in, out, [=](float x, int64_t r) { return (x - mean[r]) * scale[r]; });
}

// The two cases of NormalizeRows.
template <typename T>
void NormalizeShortRows(const LayerNormRows& shape, float epsilon, const T* x, T* y, float* mean,
                        float* stdev) {
  const int64_t d = shape.size;
  ForShortRows(shape.rows, d, x, y, [=](int64_t row, int64_t count, const float* in, float* out) {
    float means[kShortRowCount], stdevs[kShortRowCount];
    NormalizeShortBlock(d, epsilon, in, out, means, stdevs);
    std::copy_n(means, count, mean + row);
    std::copy_n(stdevs, count, stdev + row);
  });
}
template <typename T>
void NormalizeLongRows(const LayerNormRows& shape, float epsilon, const T* x, T* y, float* mean,
                       float* stdev) {
  const int64_t d = shape.size;
  ParallelFor(shape.rows, RowGrain(d, kGrain), [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const RowMoments moments = MomentsOf(d, x + i * d);
      mean[i] = static_cast<float>(moments.mean);
      stdev[i] = static_cast<float>(std::sqrt(moments.variance + epsilon));
      const float centre = mean[i], scale = 1 / stdev[i];
      const T* from = x + i * d;
      T* to = y + i * d;
      host_device::ForEachOf(host_device::SoloTeam(), d,
                             [=](int64_t j) { Store((Widen(from[j]) - centre) * scale, to + j); });
    }
  });
}

}  // namespace

template <typename T>
void NormalizeRows(const LayerNormRows& shape, float epsilon, const T* x, T* y, float* mean,
                   float* stdev, CPUContext* /*context*/) {
  if (HasShortRows(shape.size)) {
    NormalizeShortRows(shape, epsilon, x, y, mean, stdev);
  } else {
    NormalizeLongRows(shape, epsilon, x, y, mean, stdev);
  }
}

// dX = (dY - mean(dY) - Y mean(dY Y)) / stdev, means over the row
template <typename T>
void NormalizeRowsGradient(const LayerNormRows& shape, const T* dy, const T* y, const float* stdev,
                           T* dx, CPUContext* /*context*/) {
  const int64_t d = shape.size;
  ParallelFor(shape.rows, RowGrain(d, kGrain), [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const RowDots dots = DotsOf(d, dy + i * d, y + i * d);
      const auto mean_dy = static_cast<float>(dots.sum / static_cast<double>(d));
      const auto mean_product = static_cast<float>(dots.dot / static_cast<double>(d));
      const float scale = 1 / stdev[i];
      const T *gradient = dy + i * d, *output = y + i * d;
      T* to = dx + i * d;
      host_device::ForEachOf(host_device::SoloTeam(), d, [=](int64_t j) {
        Store((Widen(gradient[j]) - mean_dy - Widen(output[j]) * mean_product) * scale, to + j);
      });
    }
  });
}

REGISTER_CPU_OPERATOR(LayerNorm, LayerNormOp<CPUContext>);
REGISTER_CPU_OPERATOR(LayerNormGradient, LayerNormGradientOp<CPUContext>);

OPERATOR_SCHEMA(LayerNorm)
    .NumInputs({1, 3})
    .NumOutputs(3)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      std::vector<int64_t> dims = DimsOfRows(def, in[0]);
      dims.push_back(1);
      const TensorShape rows = CreateTensorShape(dims, TensorProto::FLOAT);
      return std::vector<TensorShape>{in[0], rows, rows};
    })
    .SetDoc(
        "Layer normalization (Ba et al., 2016): Y = (X - mean) / stdev over each row, with stdev = "
        "sqrt(variance + epsilon). With elementwise_affine, Y = (X - mean) / stdev * gamma + beta.")
    .Arg<int>("axis",
              "(default 1) Axes before this one count the rows; the other axes are their elements.")
    .Arg<float>("epsilon", "(>= 0, default 0.001) Added to the variance.")
    .Arg<bool>("elementwise_affine", "(default 0) 1: gamma and beta are inputs.")
    .Input(0, "X", "A float or bfloat16 tensor; on CUDA devices also float16.")
    .Input(1, "gamma", "With elementwise_affine: a float for each element of a row.")
    .Input(2, "beta", "With elementwise_affine: a float for each element of a row.")
    .Output(0, "Y", "The result, shaped like X.")
    .Output(1, "mean", "Float, the mean of each row: the axes before `axis`, then 1.")
    .Output(2, "stdev", "Float, the standard deviation of each row, shaped like the mean.");
OPERATOR_SCHEMA(LayerNormGradient)
    .NumInputs({5, 6})
    .NumOutputs({1, 3})
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      std::vector<TensorShape> out{in[4]};
      out.resize(def.output_size(), in.back());
      return out;
    })
    .SetDoc(
        "The gradients of LayerNorm. dX = (dZ - mean(dZ) - Z mean(dZ Z)) / stdev, with the "
        "normalized rows Z, dZ = dY gamma (dY without elementwise_affine), and means over each "
        "row.")
    .Arg<int>("axis", "As in LayerNorm.")
    .Arg<float>("epsilon", "As in LayerNorm; used with elementwise_affine.")
    .Arg<bool>("elementwise_affine", "As in LayerNorm.")
    .Input(0, "dY", "The gradient of Y.")
    .Input(1, "Y", "The first output of LayerNorm; its values are used without elementwise_affine.")
    .Input(2, "mean", "The second output; not used.")
    .Input(3, "stdev", "The third output.")
    .Input(4, "X", "The input of LayerNorm; its values are used with elementwise_affine.")
    .Input(5, "gamma", "With elementwise_affine: the second input of LayerNorm.")
    .Output(0, "dX", "The gradient of X, of the same shape.")
    .Output(1, "dgamma", "With elementwise_affine: the gradient of gamma.")
    .Output(2, "dbeta", "With elementwise_affine: the gradient of beta.");

class GetLayerNormGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    if (ArgumentHelper(Def()).GetSingleArgument<bool>("elementwise_affine", false)) {
      return SingleGradientDef("LayerNormGradient", "",
                               std::vector{GO(0), O(0), O(1), O(2), I(0), I(1)},
                               std::vector{GI(0), GI(1), GI(2)});
    }
    return SingleGradientDef("LayerNormGradient", "", std::vector{GO(0), O(0), O(1), O(2), I(0)},
                             std::vector{GI(0)});
  }
};
REGISTER_GRADIENT(LayerNorm, GetLayerNormGradient);

}  // namespace caffe2
