#include "operators/sequence/pack_segments_op.h"

#include "operators/common/gradient_rule.h"

namespace caffe2 {
namespace {

// Rows that were cut have a gradient of 0.
class GetPackSegmentsGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("UnpackSegments", "", std::vector{I(0), GO(0)}, std::vector{GI(1)},
                             std::vector<Argument>{MakeArgument("restore_cut", true)});
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(PackSegments, PackSegmentsOp<CPUContext>);
REGISTER_CPU_OPERATOR(UnpackSegments, UnpackSegmentsOp<CPUContext>);
OPERATOR_SCHEMA(PackSegments)
    .NumInputs(2, 3)
    .NumOutputs(1, 2)
    .SetDoc(
        "Packs segments of rows into one tensor. Pads each to the longest, or pads or cuts each to "
        "max_length.")
    .Arg<int>("max_length", "(> 0) The length of all segments. Default: the length of the longest.")
    .Arg<bool>("pad_minf", "(default 0) 1: pads with -infinity instead of 0.")
    .Arg<bool>("return_presence_mask", "(default 0) 1: there is a second output.")
    .Input(0, "lengths", "int32 or int64: the number of rows of each segment.")
    .Input(1, "tensor", "The rows, of any type.")
    .Input(2, "like",
           "Optional: a packed tensor with the length that all segments get. For gradients.")
    .Output(0, "packed_tensor", "[number of segments, length, rest of the rows' shape].")
    .Output(1, "presence_mask", "Bool [number of segments, length]: true where there was a row.");
OPERATOR_SCHEMA(UnpackSegments)
    .NumInputs(2)
    .NumOutputs(1)
    .SetDoc("The inverse of PackSegments: the rows without the pads.")
    .Arg<int>("max_length", "(> 0) As in PackSegments.")
    .Arg<bool>("restore_cut", "(default 0) 1: rows that PackSegments cut come back as 0.")
    .Input(0, "lengths", "int32 or int64: the number of rows of each segment.")
    .Input(1, "tensor", "The packed tensor.")
    .Output(0, "packed_tensor", "The rows; their number is known at run time only.");
REGISTER_GRADIENT(PackSegments, GetPackSegmentsGradient);
REGISTER_GRADIENT(UnpackSegments, GradientRule<"PackSegments: I0 GO0 I1 -> GI1">);

}  // namespace caffe2
