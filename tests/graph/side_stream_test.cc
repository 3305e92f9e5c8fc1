#include "caffe2/graph/side_stream.h"

#include "caffe2/graph/conv_norm_fusion.h"
#include "caffe2/graph/fusion.h"
#include "caffe2/graph/gradient.h"
#include "tests/graph/image_net.h"

namespace caffe2 {
namespace {

TEST(SideStreamTest, MarksWhatFormsTwoGradientsOnADevice) {
  testing::ResidualNet net("NHWC", false);
  NetDef& def = net.builder.net();
  FuseOperators(&def, {FusionLevel::kAll, {}});
  FuseConvolutionsWithNorms(&def, ConvNormFusion::kPrologue);
  // The image has no gradient.
  SetArgument(def.mutable_op(0), "no_gradient_to_input", 1);
  AddGradientOperators(&def, {{"loss", ""}});
  const NetDef host = def;
  EXPECT_EQ(UseSideStreams(&def), 0);
  EXPECT_EQ(def.SerializeAsString(), host.SerializeAsString());
  def.mutable_device_option()->set_device_type(CUDA);
  EXPECT_EQ(UseSideStreams(&def), 5);
  for (const OperatorDef& op : def.op()) {
    const bool marked = ArgumentHelper(op).GetSingleArgument<bool>("side_stream", false);
    const bool conv = op.type() == "ConvGradient" || op.type() == "NormReluConvStatsGradient";
    EXPECT_EQ(marked, conv && op.output(op.output_size() - 1) != "conv_w_grad") << op.DebugString();
  }
}

}  // namespace
}  // namespace caffe2
