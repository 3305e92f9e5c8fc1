// ChannelShuffle: mixes the channels of grouped convolutions (Zhang et al., "ShuffleNet",
// arXiv:1707.01083).
#include "operators/image/channel_shuffle_op.h"

#include "operators/shape/matrix_transpose.h"

namespace caffe2 {

template <>
void TransposeRuns(int64_t batch, int64_t rows, int64_t columns, int64_t run, size_t itemsize,
                   const void* x, void* y, CPUContext* /*context*/) {
  TransposeMatrices(batch, rows, columns, run * itemsize, x, y);
}

namespace {

using ChannelShuffle = ChannelShuffleOp<CPUContext, false>;
using ChannelShuffleGradient = ChannelShuffleOp<CPUContext, true>;

class GetChannelShuffleGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("ChannelShuffleGradient", "", std::vector<std::string>{GO(0)},
                             std::vector<std::string>{GI(0)});
  }
};

REGISTER_CPU_OPERATOR(ChannelShuffle, ChannelShuffle);
OPERATOR_SCHEMA(ChannelShuffle)
    .NumInputs(1)
    .NumOutputs(1)
    .IdenticalTypeAndShape()
    .Arg<int>("group", "(> 0, default 1) Number of groups, which must divide C.")
    .ArgOrder()
    .Arg("kernel", "Accepted and without effect.")
    .Input(0, "X", "N x C x spatial (NCHW) or N x spatial x C (NHWC), of any type.")
    .Output(0, "Y", "X's shape and type; channel k * group + g is X's g * (C / group) + k.")
    .SetDoc(
        "Writes the channels as a matrix of group rows, transposed (ShuffleNet, "
        "arXiv:1707.01083).");
REGISTER_GRADIENT(ChannelShuffle, GetChannelShuffleGradient);

REGISTER_CPU_OPERATOR(ChannelShuffleGradient, ChannelShuffleGradient);
OPERATOR_SCHEMA(ChannelShuffleGradient)
    .NumInputs(1)
    .NumOutputs(1)
    .IdenticalTypeAndShape()
    .Arg<int>("group", "As in the forward operator.")
    .ArgOrder("As in the forward operator.")
    .Input(0, "dY", "Gradient of Y.")
    .Output(0, "dX", "Gradient of X, in its shape.")
    .SetDoc("Gradient of ChannelShuffle: the inverse permutation.");
NO_GRADIENT(ChannelShuffleGradient);

}  // namespace
}  // namespace caffe2
