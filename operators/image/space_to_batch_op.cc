#include "operators/image/space_to_batch_op.h"

#include "operators/common/gradient_rule.h"

namespace caffe2 {
namespace {

template <bool kApart>
using CpuSpaceBatchOp = SpaceBatchOp<CPUContext, kApart>;

template <bool kApart>
void DescribeBlocks(OpSchema& schema) {
  schema.Arg<int>("block_size", "(> 0, default 2) The side of a block.")
      .Arg<int>("pad",
                "Zeros around the images, default 0. Or pad_t, pad_l, pad_b, pad_r, or pads.")
      .ArgOneOf("order", {"NCHW"}, "(default NCHW) The storage order.")
      .NumInputs(1)
      .NumOutputs(1)
      .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
        const auto shape = SpaceBatchShape::Make(ArgumentHelper(def), GetDimsVector(in[0]), kApart);
        return std::vector<TensorShape>{CreateTensorShape(shape.Dims(!kApart), in[0].data_type())};
      });
}

}  // namespace

REGISTER_CPU_OPERATOR(SpaceToBatch, CpuSpaceBatchOp<false>);
REGISTER_CPU_OPERATOR(BatchToSpace, CpuSpaceBatchOp<true>);
OPERATOR_SCHEMA(SpaceToBatch)
    .FillUsing(DescribeBlocks<false>)
    .SetDoc(
        "Divides images: pixel (i, j) of each block of block_size x block_size goes to image "
        "(i * block_size + j) * N + n of a larger batch.")
    .Input(
        0, "X",
        "N x C x H x W, float or bfloat16, on CUDA devices also float16; with pads a multiple of "
        "the block.")
    .Output(0, "Y", "(N * block^2) x C x (H + pads) / block x (W + pads) / block.");
OPERATOR_SCHEMA(BatchToSpace)
    .FillUsing(DescribeBlocks<true>)
    .SetDoc("The inverse of SpaceToBatch; the pads are dropped.")
    .Input(0, "X",
           "N x C x H x W, float or bfloat16, on CUDA devices also float16; N a multiple of "
           "block_size^2.")
    .Output(0, "Y", "N / block^2 x C x (H * block - pads) x (W * block - pads).");
REGISTER_GRADIENT(SpaceToBatch, GradientRule<"BatchToSpace: GO0 -> GI0">);
REGISTER_GRADIENT(BatchToSpace, GradientRule<"SpaceToBatch: GO0 -> GI0">);

}  // namespace caffe2
