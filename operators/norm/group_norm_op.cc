#include "operators/norm/group_norm_op.h"

#include <cmath>

#include "operators/norm/row_moments.h"

namespace caffe2 {
namespace {

// The moments of a group from the moments of its channels, which have the same size.
RowMoments MomentsOfGroup(int64_t depth, const RowMoments* channels) {
  RowMoments group;
  const auto count = static_cast<double>(depth);
  for (int64_t c = 0; c < depth; ++c) group.mean += channels[c].mean / count;
  for (int64_t c = 0; c < depth; ++c) {
    const double distance = channels[c].mean - group.mean;
    group.variance += (channels[c].variance + distance * distance) / count;
  }
  return group;
}

// What NormalizeBlock takes from the groups, one of each for each channel.
struct GroupScales {
  std::vector<float> mean, inverse;  // inverse = 1 / sqrt(variance + epsilon)

  GroupScales(int64_t depth, float epsilon, const std::vector<RowMoments>& channels)
      : mean(channels.size()), inverse(channels.size()) {
    for (size_t c = 0; c < channels.size(); c += depth) {
      const RowMoments group = MomentsOfGroup(depth, channels.data() + c);
      std::fill_n(mean.data() + c, depth, static_cast<float>(group.mean));
      std::fill_n(inverse.data() + c, depth,
                  static_cast<float>(1 / std::sqrt(group.variance + epsilon)));
    }
  }
};

// The gradients of one group.
struct GroupGradient {
  int64_t depth, values;  // channels, and elements of the group
  float mean, inverse;

  // Adds to dgamma and dbeta, and writes the factors of dx. All arrays have one element for each
  // channel of the group.
  void Write(const RowDots* dots, const float* gamma, float* dgamma, float* dbeta,
             NormGradientFactors* factors) const {
    const auto count = static_cast<double>(values);
    double mean_dy = 0, mean_product = 0;
    for (int64_t c = 0; c < depth; ++c) {
      const double product = (dots[c].dot - dots[c].sum * mean) * inverse;  // sum dy z
      dgamma[c] += static_cast<float>(product);
      dbeta[c] += static_cast<float>(dots[c].sum);
      mean_dy += gamma[c] * dots[c].sum / count;
      mean_product += gamma[c] * product / count;
    }
    for (int64_t c = 0; c < depth; ++c) {
      factors[c] = {.mean = mean,
                    .inverse = inverse,
                    .gamma = gamma[c],
                    .mean_dy = static_cast<float>(mean_dy),
                    .mean_product = static_cast<float>(mean_product),
                    .outer = inverse};
    }
  }
};

ChannelBlock ChannelsOf(const GroupLayout& l) {
  return {l.channels(), l.size, l.channel_stride, l.stride};
}

}  // namespace

template <>
template <typename T>
void GroupNormOp<CPUContext>::Normalize(const GroupLayout& l, const T* x, const float* scale,
                                        const float* bias, float* means, float* inverses, T* y) {
  const auto normalize = [&](int64_t n, int64_t first, const ChannelBlock& block) {
    const T* from = x + l.Begin(n, first);
    const GroupScales scales(l.depth, epsilon(), MomentsOfChannels(block, from));
    for (int64_t c = 0; c < block.count; c += l.depth) {
      const int64_t k = n * l.groups + (first + c) / l.depth;
      if (means != nullptr) means[k] = scales.mean[c];
      if (inverses != nullptr) inverses[k] = scales.inverse[c];
    }
    NormalizeBlock(block, from, scales.mean.data(), scales.inverse.data(), scale + first,
                   bias + first, y + l.Begin(n, first));
  };
  ForEachChannelBlock(ChannelsOf(l), l.depth, l.images, l.images, normalize);
}

template <>
template <typename T>
void GroupNormGradientOp<CPUContext>::Gradients(const GroupLayout& l, const T* dy, const T* x,
                                                T* dx, float* dgamma, float* dbeta) {
  const float *gamma = Input(2).data<float>(), *means = Input(4).data<float>(),
              *inverses = Input(5).data<float>();
  std::fill_n(dgamma, l.channels(), 0.f);
  std::fill_n(dbeta, l.channels(), 0.f);
  const auto write = [&](int64_t, int64_t first, const ChannelBlock& block) {
    std::vector<NormGradientFactors> factors(block.count);
    for (int64_t n = 0; n < l.images; ++n) {
      const int64_t at = l.Begin(n, first);
      const std::vector<RowDots> dots = DotsOfChannels(block, dy + at, x + at);
      for (int64_t c = 0; c < block.count; c += l.depth) {
        const int64_t k = n * l.groups + (first + c) / l.depth;
        GroupGradient{l.depth, l.values(), means[k], inverses[k]}.Write(
            dots.data() + c, gamma + first + c, dgamma + first + c, dbeta + first + c,
            factors.data() + c);
      }
      NormalizeBlockGradient(block, x + at, dy + at, factors.data(), dx + at);
    }
  };
  // A channel belongs to one thread, so that its sums do not depend on the threads.
  ForEachChannelBlock(ChannelsOf(l), l.depth, l.images, 1, write);
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
