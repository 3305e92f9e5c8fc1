// GroupNorm: groups of channels of each image are brought to a mean of 0 and a deviation of 1, then
// each channel to a learned mean and deviation.
#include <cmath>

#include "caffe2/utils/parallel.h"
#include "operators/activation_types.h"
#include "operators/conv_pool_shape.h"
#include "operators/row_moments.h"

namespace caffe2 {
namespace {

constexpr int kDefaultGroups = 32;

// Element i of channel c of image n lies at (n * channels * size) + c * channel_stride + i *
// stride. Group g is the channels [g * depth, (g + 1) * depth).
struct GroupLayout {
  int64_t images = 0, groups = 0, depth = 0;
  int64_t size = 0;  // elements of one channel of one image
  int64_t channel_stride = 0, stride = 0;

  int64_t channels() const { return groups * depth; }
  int64_t values() const { return depth * size; }  // of one group of one image
  int64_t Begin(int64_t n, int64_t c) const { return n * channels() * size + c * channel_stride; }
};

class GroupNormBase : public Operator<CPUContext> {
 public:
  GroupNormBase(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        group_(GetSingleArgument<int>("group", kDefaultGroups)),
        epsilon_(GetSingleArgument<float>("epsilon", 1e-5f)),
        order_(ReadStorageOrder(ArgumentHelper(def))) {
    CAFFE_ENFORCE_GE(group_, 1, "argument group");
    CAFFE_ENFORCE_GE(epsilon_, 0, "argument epsilon");
  }

 protected:
  // Throws if the channels do not divide into groups, or gamma or beta are not one a channel.
  GroupLayout Layout(const Tensor& x, const Tensor& gamma, const Tensor& beta) const {
    const ImageShape image = ImageShape::FromDims(x.sizes(), order_);
    CAFFE_ENFORCE_EQ(image.channels % group_, 0, image.channels, " channels do not divide into ",
                     group_, " groups");
    CAFFE_ENFORCE(gamma.numel() == image.channels && beta.numel() == image.channels, "gamma ",
                  ShapeString(gamma.sizes()), " and beta ", ShapeString(beta.sizes()), " for X ",
                  ShapeString(x.sizes()));
    const int64_t size = image.SpatialSize();
    const bool last = order_ == StorageOrder::kNHWC;
    return {image.batch, group_,          image.channels / group_,
            size,        last ? 1 : size, last ? image.channels : 1};
  }
  float epsilon() const { return epsilon_; }

 private:
  int64_t group_;
  float epsilon_;
  StorageOrder order_;
};

// The moments of a group from those of its channels, which are equally large.
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

class GroupNormOp final : public GroupNormBase {
 public:
  using GroupNormBase::GroupNormBase;
  bool RunOnDevice() override {
    return ActivationTypes<CPUContext>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &X = Input(0), &gamma = Input(1), &beta = Input(2);
    const GroupLayout l = Layout(X, gamma, beta);
    const T* x = X.data<T>();
    const float *scale = gamma.data<float>(), *bias = beta.data<float>();
    Output(0)->ResizeLike(X);
    T* y = Output(0)->mutable_data<T>();
    float* saved[2] = {nullptr, nullptr};  // mean, inv_std
    for (int i = 1; i < OutputSize(); ++i) {
      Output(i)->Resize(l.images, l.groups);
      saved[i - 1] = Output(i)->mutable_data<float>();
    }
    ParallelFor(l.images * l.groups, 1, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        const int64_t n = k / l.groups, g = k % l.groups;
        const RowMoments moments = MomentsOfGroup(l, n, g, x);
        const auto mean = static_cast<float>(moments.mean);
        const auto inverse = static_cast<float>(1 / std::sqrt(moments.variance + epsilon()));
        if (saved[0] != nullptr) saved[0][k] = mean;
        if (saved[1] != nullptr) saved[1][k] = inverse;
        for (int64_t c = g * l.depth; c < (g + 1) * l.depth; ++c) {
          for (int64_t i = 0, at = l.Begin(n, c); i < l.size; ++i, at += l.stride) {
            Store((Widen(x[at]) - mean) * inverse * scale[c] + bias[c], &y[at]);
          }
        }
      }
    });
    return true;
  }
};

// With z = (x - mean) * inv_std:
//   dgamma = sum dy z,  dbeta = sum dy, over images and elements of a channel
//   dx = inv_std * (gamma dy - mean(gamma dy) - z mean(gamma dy z)), means over the group
class GroupNormGradientOp final : public GroupNormBase {
 public:
  using GroupNormBase::GroupNormBase;
  bool RunOnDevice() override {
    return ActivationTypes<CPUContext>::Dispatch(this, Input(1).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &dY = Input(0), &X = Input(1), &gamma = Input(2), &beta = Input(3);
    const GroupLayout l = Layout(X, gamma, beta);
    CAFFE_ENFORCE_EQ(dY.numel(), X.numel(), "dY ", ShapeString(dY.sizes()), " for X ",
                     ShapeString(X.sizes()));
    for (int i : {4, 5}) CAFFE_ENFORCE_EQ(Input(i).numel(), l.images * l.groups, "input ", i);
    Output(0)->ResizeLike(X);
    T* dx = Output(0)->mutable_data<T>();
    float* sums[2] = {nullptr, nullptr};  // dgamma, dbeta
    for (int i : {0, 1}) {
      Output(i + 1)->ResizeLike(gamma);
      sums[i] = Output(i + 1)->mutable_data<float>();
      std::fill_n(sums[i], l.channels(), 0.f);
    }
    // A channel belongs to one thread, so that its sums do not depend on the threads.
    ParallelFor(l.groups, 1, [&](int64_t begin, int64_t end) {
      for (int64_t g = begin; g < end; ++g) {
        for (int64_t n = 0; n < l.images; ++n) {
          GradientOfGroup(l, n, g, dY.data<T>(), X.data<T>(), dx, sums[0], sums[1]);
        }
      }
    });
    return true;
  }

 private:
  template <typename T>
  void GradientOfGroup(const GroupLayout& l, int64_t n, int64_t g, const T* dy, const T* x, T* dx,
                       float* dgamma, float* dbeta) const {
    const float* gamma = Input(2).data<float>();
    const float mean = Input(4).data<float>()[n * l.groups + g];
    const float inverse = Input(5).data<float>()[n * l.groups + g];
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
};

class GetGroupNormGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    CAFFE_ENFORCE_EQ(Def().output_size(), 3,
                     "the gradient of GroupNorm needs its outputs mean and inv_std; outputs");
    return SingleGradientDef("GroupNormGradient", "",
                             std::vector{GO(0), I(0), I(1), I(2), O(1), O(2)},
                             std::vector{GI(0), GI(1), GI(2)});
  }
};

void Arguments(OpSchema& schema) {
  schema.Arg("group", "(int > 0, default 32) How many groups the channels form.")
      .Arg("epsilon", "(float >= 0, default 1e-5) Added to the variance.")
      .Arg("order", "(string, default NCHW) NCHW or NHWC.");
}

}  // namespace

REGISTER_CPU_OPERATOR(GroupNorm, GroupNormOp);
REGISTER_CPU_OPERATOR(GroupNormGradient, GroupNormGradientOp);

OPERATOR_SCHEMA(GroupNorm)
    .NumInputs(3)
    .NumOutputs({1, 3})
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      CAFFE_ENFORCE_GT(in[0].dims_size(), 0);
      const int64_t groups = ArgumentHelper(def).GetSingleArgument<int>("group", kDefaultGroups);
      std::vector<TensorShape> out{in[0]};
      out.resize(def.output_size(), CreateTensorShape({in[0].dims(0), groups}, TensorProto::FLOAT));
      return out;
    })
    .FillUsing(Arguments)
    .SetDoc(
        "Group normalization (Wu and He, 2018): Y = gamma * (X - mean) * inv_std + beta, where "
        "mean and inv_std = 1 / sqrt(variance + epsilon) are those of the element's group of "
        "channels in its image.")
    .Input(0, "X", "N x C x ... (NCHW) or N x ... x C (NHWC), float or bfloat16.")
    .Input(1, "gamma", "One float a channel.")
    .Input(2, "beta", "One float a channel.")
    .Output(0, "Y", "The result, shaped like X.")
    .Output(1, "mean", "The means, float, [N, group]. With inv_std, needed for the gradient.")
    .Output(2, "inv_std", "1 / sqrt(variance + epsilon), float, [N, group].");
OPERATOR_SCHEMA(GroupNormGradient)
    .NumInputs(6)
    .NumOutputs(3)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in[1], in[2], in[3]};
    })
    .FillUsing(Arguments)
    .SetDoc("The gradients of GroupNorm.")
    .Input(0, "dY", "The gradient of Y.")
    .Input(1, "X", "As in GroupNorm.")
    .Input(2, "gamma", "As in GroupNorm.")
    .Input(3, "beta", "As in GroupNorm; its shape counts.")
    .Input(4, "mean", "The second output of GroupNorm.")
    .Input(5, "inv_std", "Its third output.")
    .Output(0, "dX", "The gradient of X.")
    .Output(1, "dgamma", "The gradient of gamma.")
    .Output(2, "dbeta", "The gradient of beta.");
REGISTER_GRADIENT(GroupNorm, GetGroupNormGradient);

}  // namespace caffe2
