// ChannelShuffle: mixes the channels of grouped convolutions (Zhang et al., "ShuffleNet",
// arXiv:1707.01083).
#include "caffe2/core/operator.h"
#include "operators/conv_pool_shape.h"
#include "operators/matrix_transpose.h"

namespace caffe2 {
namespace {

// Channel g * (C / group) + k of X is channel k * group + g of Y; the gradient goes back.
template <bool kGradient>
class ChannelShuffleOp final : public Operator<CPUContext> {
 public:
  ChannelShuffleOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        order_(ReadStorageOrder(ArgumentHelper(def))),
        group_(GetSingleArgument<int64_t>("group", 1)) {
    CAFFE_ENFORCE_GE(group_, 1);
  }

  bool RunOnDevice() override {
    const Tensor& x = Input(0);
    CAFFE_ENFORCE(x.has_data() && x.dtype().copy() == nullptr, "cannot shuffle ", x.DebugString());
    const ImageShape image = ImageShape::FromDims(x.sizes(), order_);
    CAFFE_ENFORCE_EQ(image.channels % group_, 0, "the groups do not divide the channels ",
                     image.channels);
    Tensor* y = Output(0);
    y->ResizeLike(x);
    void* to = y->raw_mutable_data(x.dtype());
    const int64_t per_group = image.channels / group_, spatial = image.SpatialSize();
    const int64_t rows = kGradient ? per_group : group_;
    const int64_t columns = kGradient ? group_ : per_group;
    if (order_ == StorageOrder::kNCHW) {
      TransposeMatrices(image.batch, rows, columns, spatial * x.itemsize(), x.raw_data(), to);
    } else {
      TransposeMatrices(image.batch * spatial, rows, columns, x.itemsize(), x.raw_data(), to);
    }
    return true;
  }

 private:
  const StorageOrder order_;
  const int64_t group_;
};

class GetChannelShuffleGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("ChannelShuffleGradient", "", std::vector<std::string>{GO(0)},
                             std::vector<std::string>{GI(0)});
  }
};

REGISTER_CPU_OPERATOR(ChannelShuffle, ChannelShuffleOp<false>);
OPERATOR_SCHEMA(ChannelShuffle)
    .NumInputs(1)
    .NumOutputs(1)
    .IdenticalTypeAndShape()
    .Arg("group", "Number of groups, which must divide C; default 1.")
    .Arg("order", "NCHW (default) or NHWC.")
    .Input(0, "X", "N x C x spatial (NCHW) or N x spatial x C (NHWC), of any type.")
    .Output(0, "Y", "X's shape and type; channel k * group + g is X's g * (C / group) + k.")
    .SetDoc(
        "Writes the channels as a matrix of group rows, transposed (ShuffleNet, "
        "arXiv:1707.01083).");
REGISTER_GRADIENT(ChannelShuffle, GetChannelShuffleGradient);

REGISTER_CPU_OPERATOR(ChannelShuffleGradient, ChannelShuffleOp<true>);
OPERATOR_SCHEMA(ChannelShuffleGradient)
    .NumInputs(1)
    .NumOutputs(1)
    .IdenticalTypeAndShape()
    .Arg("group", "As in the forward operator.")
    .Arg("order", "As in the forward operator.")
    .Input(0, "dY", "Gradient of Y.")
    .Output(0, "dX", "Gradient of X, in its shape.")
    .SetDoc("Gradient of ChannelShuffle: the inverse permutation.");
NO_GRADIENT(ChannelShuffleGradient);

}  // namespace
}  // namespace caffe2
