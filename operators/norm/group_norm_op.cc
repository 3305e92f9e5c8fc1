#include "operators/norm/group_norm_op.h"

#include <cmath>

#include "caffe2/utils/parallel.h"
#include "operators/norm/row_moments.h"

namespace caffe2 {
namespace {

// The moments of a group from the moments of its channels, which have the same size.
template <typename T>
RowMoments MomentsOfGroup(const GroupLayout& l, int64_t n, int64_t g, const T* x) {
  std::vector<RowMoments> channels;
  RowMoments group;
  const auto depth = static_cast<double>(l.depth);
  for (int64_t c = g * l.depth; c < (g + 1) * l.depth; ++c) {
    channels.push_back(MomentsOf(l.size, l.stride, x + l.Begin(n, c)));
    group.mean += channels.back().mean / depth;
  }
  for (const RowMoments& channel : channels) {
    const double distance = channel.mean - group.mean;
    group.variance += (channel.variance + distance * distance) / depth;
  }
  return group;
}

template <typename T>
void GradientOfGroup(const GroupLayout& l, int64_t n, int64_t g, const T* dy, const T* x,
                     const float* gamma, float mean, float inverse, T* dx, float* dgamma,
                     float* dbeta) {
  double mean_dy = 0, mean_product = 0;
  for (int64_t c = g * l.depth; c < (g + 1) * l.depth; ++c) {
    const RowDots dots = DotsOf(l.size, l.stride, dy + l.Begin(n, c), x + l.Begin(n, c));
    const double product = (dots.dot - dots.sum * mean) * inverse;  // sum dy z
    dgamma[c] += static_cast<float>(product);
    dbeta[c] += static_cast<float>(dots.sum);
    mean_dy += gamma[c] * dots.sum / static_cast<double>(l.values());
    mean_product += gamma[c] * product / static_cast<double>(l.values());
  }
  for (int64_t c = g * l.depth; c < (g + 1) * l.depth; ++c) {
    for (int64_t i = 0, at = l.Begin(n, c); i < l.size; ++i, at += l.stride) {
      const float z = (Widen(x[at]) - mean) * inverse;
      Store(inverse * (gamma[c] * Widen(dy[at]) - static_cast<float>(mean_dy) -
                       z * static_cast<float>(mean_product)),
            &dx[at]);
    }
  }
}

}  // namespace

template <>
template <typename T>
void GroupNormOp<CPUContext>::Normalize(const GroupLayout& l, const T* x, const float* scale,
                                        const float* bias, float* means, float* inverses, T* y) {
  ParallelFor(l.images * l.groups, 1, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const int64_t n = k / l.groups, g = k % l.groups;
      const RowMoments moments = MomentsOfGroup(l, n, g, x);
      const auto mean = static_cast<float>(moments.mean);
      const auto inverse = static_cast<float>(1 / std::sqrt(moments.variance + epsilon()));
      if (means != nullptr) means[k] = mean;
      if (inverses != nullptr) inverses[k] = inverse;
      for (int64_t c = g * l.depth; c < (g + 1) * l.depth; ++c) {
        for (int64_t i = 0, at = l.Begin(n, c); i < l.size; ++i, at += l.stride) {
          Store((Widen(x[at]) - mean) * inverse * scale[c] + bias[c], &y[at]);
        }
      }
    }
  });
}

template <>
template <typename T>
void GroupNormGradientOp<CPUContext>::Gradients(const GroupLayout& l, const T* dy, const T* x,
                                                T* dx, float* dgamma, float* dbeta) {
  const float *gamma = Input(2).data<float>(), *mean = Input(4).data<float>(),
              *inverse = Input(5).data<float>();
  std::fill_n(dgamma, l.channels(), 0.f);
  std::fill_n(dbeta, l.channels(), 0.f);
  // A channel belongs to one thread, so that its sums do not depend on the threads.
  ParallelFor(l.groups, 1, [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) {
      for (int64_t n = 0; n < l.images; ++n) {
        const int64_t k = n * l.groups + g;
        GradientOfGroup(l, n, g, dy, x, gamma, mean[k], inverse[k], dx, dgamma, dbeta);
      }
    }
  });
}

namespace {

class GetGroupNormGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    CAFFE_ENFORCE(Def().output_size() == 3,
                  "the gradient of GroupNorm needs its outputs mean and inv_std, found ",
                  Def().output_size(), " outputs");
    return SingleGradientDef("GroupNormGradient", "",
                             std::vector{GO(0), I(0), I(1), I(2), O(1), O(2)},
                             std::vector{GI(0), GI(1), GI(2)});
  }
};

void GroupNormArguments(OpSchema& schema) {
  schema.Arg<int>("group", "(> 0, default 32) How many groups the channels form.")
      .Arg<float>("epsilon", "(>= 0, default 1e-5) Added to the variance.")
      .ArgOrder();
}

}  // namespace

REGISTER_CPU_OPERATOR(GroupNorm, GroupNormOp<CPUContext>);
REGISTER_CPU_OPERATOR(GroupNormGradient, GroupNormGradientOp<CPUContext>);

OPERATOR_SCHEMA(GroupNorm)
    .NumInputs(3)
    .NumOutputs({1, 3})
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      CAFFE_ENFORCE(in[0].dims_size() > 0, "X must have at least one axis, found a scalar");
      const int64_t groups =
          ArgumentHelper(def).GetSingleArgument<int>("group", kDefaultNormGroups);
      std::vector<TensorShape> out{in[0]};
      out.resize(def.output_size(), CreateTensorShape({in[0].dims(0), groups}, TensorProto::FLOAT));
      return out;
    })
    .FillUsing(GroupNormArguments)
    .SetDoc(
        "Group normalization (Wu and He, 2018): Y = gamma * (X - mean) * inv_std + beta, where "
        "mean and inv_std = 1 / sqrt(variance + epsilon) are computed over the element's group of "
        "channels in its image.")
    .Input(0, "X",
           "N x C x ... (NCHW) or N x ... x C (NHWC), float or bfloat16; on CUDA devices also "
           "float16.")
    .Input(1, "gamma", "C floats.")
    .Input(2, "beta", "C floats.")
    .Output(0, "Y", "The result, shaped like X.")
    .Output(1, "mean", "The means, float, [N, group]. The gradient needs them and inv_std.")
    .Output(2, "inv_std", "1 / sqrt(variance + epsilon), float, [N, group].");
OPERATOR_SCHEMA(GroupNormGradient)
    .NumInputs(6)
    .NumOutputs(3)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in[1], in[2], in[3]};
    })
    .FillUsing(GroupNormArguments)
    .SetDoc("The gradients of GroupNorm.")
    .Input(0, "dY", "The gradient of Y.")
    .Input(1, "X", "As in GroupNorm.")
    .Input(2, "gamma", "As in GroupNorm.")
    .Input(3, "beta", "As in GroupNorm. Only its shape is used.")
    .Input(4, "mean", "The second output of GroupNorm.")
    .Input(5, "inv_std", "Its third output.")
    .Output(0, "dX", "The gradient of X.")
    .Output(1, "dgamma", "The gradient of gamma.")
    .Output(2, "dbeta", "The gradient of beta.");
REGISTER_GRADIENT(GroupNorm, GetGroupNormGradient);

}  // namespace caffe2
