// cuDNN's engines for convolutions fused with the operations around them, on an H100 and an H200,
// from their descriptions: no GPU is needed.
#include "caffe2/cuda/fused_convolution.h"

#include "operators/conv/few_channels_conv.h"
#include "tests/cuda/resnet50_layers.h"

namespace caffe2::cuda {
namespace {

using testing::H100;
using testing::H200;
using testing::Layer;
using testing::Layers;
using testing::ProblemOf;

bool HasPlan(FusedConvolution form, const Layer& layer, TypeMeta type, std::string* reason,
             bool channels_last = true, int64_t batch = 256) {
  try {
    const auto plan =
        PlanFusedConvolution(form, ProblemOf(layer, type, channels_last, batch), H200());
    return plan.engine >= 0 && plan.workspace_bytes <= int64_t{4} << 30;
  } catch (const Error& error) {
    *reason = error.what();
    return false;
  }
}

// The layers after a normalization and a Relu that nothing else reads: the second and third of
// each block.
bool IsInsideOfBlock(const Layer& layer) {
  return layer.kernel == 3 || (layer.filters == 4 * layer.channels && layer.stride == 1);
}

TEST(FusedConvolutionPlanTest, BiasSumAndReluOfAllTypes) {
  std::string reason;
  for (const TypeMeta type :
       {TypeMeta::Make<float>(), TypeMeta::Make<float16>(), TypeMeta::Make<bfloat16>()}) {
    for (const bool channels_last : {false, true}) {
      for (const Layer& layer : Layers()) {
        for (const auto form : {FusedConvolution::kBias, FusedConvolution::kBiasRelu,
                                FusedConvolution::kSumBias, FusedConvolution::kSumBiasRelu}) {
          EXPECT_TRUE(HasPlan(form, layer, type, &reason, channels_last)) << reason;
        }
      }
    }
  }
}

TEST(FusedConvolutionPlanTest, NormsInFloat16) {
  std::string reason;
  int inside = 0;
  for (const Layer& layer : Layers()) {
    if (layer.channels == 3) continue;
    const TypeMeta type = TypeMeta::Make<float16>();
    EXPECT_TRUE(HasPlan(FusedConvolution::kStats, layer, type, &reason)) << reason;
    if (!IsInsideOfBlock(layer)) continue;
    ++inside;
    for (const auto form : {FusedConvolution::kNormedStats, FusedConvolution::kNormedBackwardFilter,
                            FusedConvolution::kNormedBackwardData}) {
      EXPECT_TRUE(HasPlan(form, layer, type, &reason)) << reason;
    }
  }
  EXPECT_EQ(inside, 11);
}

// The first layers of the blocks, which take the sum at the end of the block before, whose shortcut
// is normalized in four of them.
TEST(FusedConvolutionPlanTest, NormedSumsInFloat16) {
  std::string reason;
  int first = 0;
  for (const Layer& layer : Layers()) {
    if (layer.kernel != 1 || layer.stride != 1 || layer.channels <= layer.filters) continue;
    ++first;
    for (const auto form :
         {FusedConvolution::kNormedSumStats, FusedConvolution::kNormedSumBackwardData,
          FusedConvolution::kNormedPairStats, FusedConvolution::kNormedPairBackwardData}) {
      for (const int64_t batch : {32, 256}) {
        EXPECT_TRUE(HasPlan(form, layer, TypeMeta::Make<float16>(), &reason, true, batch))
            << reason;
      }
    }
  }
  EXPECT_EQ(first, 7);
}

// cuDNN has fast engines for patches, in float16 also one with sums.
TEST(FusedConvolutionPlanTest, TheFirstLayerIsOneOfPatches) {
  for (const TypeMeta type : {TypeMeta::Make<float16>(), TypeMeta::Make<bfloat16>()}) {
    const ConvProblem problem = ProblemOf(Layers()[0], type, true, 256);
    const ConvProblem patches = FewChannelsConv::Make(problem)->problem();
    EXPECT_EQ(patches.x, (std::vector<int64_t>{256, 48, 115, 112}));
    EXPECT_EQ(patches.filter, (std::vector<int64_t>{64, 48, 4, 1}));
    EXPECT_EQ(patches.y, problem.y);
    for (const std::string& device : {H100(), H200()}) {
      EXPECT_GE(PlanConvolution(ConvDirection::kForward, patches, device, 8).candidates, 2);
      EXPECT_GE(PlanConvolution(ConvDirection::kBackwardFilter, patches, device, 8).candidates, 2);
      if (type.Match<bfloat16>()) continue;
      EXPECT_GE(PlanFusedConvolution(FusedConvolution::kStats, patches, device).engine, 0);
    }
  }
}

// Large batches have patches, too, up to a limit of memory.
TEST(FewChannelsConvTest, PatchesTakeAtMostFourGiB) {
  const auto of_batch = [](int64_t batch) {
    return FewChannelsConv::Make(ProblemOf(Layers()[0], TypeMeta::Make<float16>(), true, batch));
  };
  EXPECT_TRUE(of_batch(2048).has_value());
  EXPECT_FALSE(of_batch(4096).has_value());
}

// Only float16 has engines that normalize on the way in.
TEST(FusedConvolutionPlanTest, BFloat16HasNone) {
  std::string reason;
  const Layer layer{64, 64, 56, 3, 1};
  EXPECT_FALSE(
      HasPlan(FusedConvolution::kNormedBackwardFilter, layer, TypeMeta::Make<bfloat16>(), &reason));
  EXPECT_NE(reason.find("cuDNN has no plan for the filter gradient of the normed convolution"),
            std::string::npos)
      << reason;
  const Layer first{256, 64, 56, 1, 1};
  for (const auto form :
       {FusedConvolution::kNormedPairStats, FusedConvolution::kNormedPairBackwardData}) {
    EXPECT_FALSE(HasPlan(form, first, TypeMeta::Make<bfloat16>(), &reason));
    EXPECT_NE(reason.find("of a sum of two normed images"), std::string::npos) << reason;
  }
}

}  // namespace
}  // namespace caffe2::cuda
