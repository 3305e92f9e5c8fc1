// cuDNN's plans for an H200, made from its description: no GPU is needed.
#include <iostream>

#include "caffe2/cuda/runtime.h"
#include "tests/cuda/resnet50_layers.h"

namespace caffe2::cuda {
namespace {

using testing::H200;
using testing::Layer;
using testing::Layers;
using testing::ProblemOf;

void ExpectPlans(TypeMeta type, bool channels_last) {
  const std::string device = H200();
  for (const Layer& layer : Layers()) {
    const ConvProblem problem = ProblemOf(layer, type, channels_last, 256);
    for (const auto direction :
         {ConvDirection::kForward, ConvDirection::kBackwardData, ConvDirection::kBackwardFilter}) {
      if (layer.channels == 3 && direction == ConvDirection::kBackwardData) continue;  // images
      try {
        const ConvPlanDescription plan = PlanConvolution(direction, problem, device);
        EXPECT_GE(plan.engine, 0);
        EXPECT_LE(plan.workspace_bytes, int64_t{4} << 30);
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
    }
  }
}

TEST(ConvolutionPlanTest, Float16ChannelsLast) { ExpectPlans(TypeMeta::Make<float16>(), true); }
TEST(ConvolutionPlanTest, BFloat16ChannelsLast) { ExpectPlans(TypeMeta::Make<bfloat16>(), true); }
TEST(ConvolutionPlanTest, FloatChannelsFirst) { ExpectPlans(TypeMeta::Make<float>(), false); }
TEST(ConvolutionPlanTest, FloatChannelsLast) { ExpectPlans(TypeMeta::Make<float>(), true); }

// Without TF32 the heuristics list dozens of plans that may not be used before those that may, and
// these want room to reorder the images. What is left without them is engine 0, which is many times
// slower.
TEST(ConvolutionPlanTest, FloatDoesNotFallBackToTheSlowestEngine) {
  for (const bool channels_last : {false, true}) {
    for (const Layer& layer : Layers()) {
      const ConvProblem problem = ProblemOf(layer, TypeMeta::Make<float>(), channels_last, 256);
      for (const auto direction : {ConvDirection::kForward, ConvDirection::kBackwardData,
                                   ConvDirection::kBackwardFilter}) {
        if (layer.channels == 3 && direction == ConvDirection::kBackwardData) continue;  // images
        EXPECT_NE(PlanConvolution(direction, problem, H200()).engine, 0) << problem.ToString();
      }
    }
  }
}

// ConvInputGradient asks for these instead of input gradients with uneven padding or strides, whose
// only exact plan is engine 0.
TEST(ConvolutionPlanTest, GradientsOfPaddedImagesDoNotTakeEngine0) {
  struct Case {
    int64_t channels, filters, kernel_h, kernel_w, stride_h, stride_w;
  };
  for (const Case& c : {Case{3, 5, 7, 7, 2, 1}, Case{3, 5, 7, 7, 2, 2}, Case{4, 5, 6, 5, 3, 2},
                        Case{4, 5, 2, 2, 2, 3}, Case{64, 64, 3, 3, 2, 2}, Case{1, 8, 5, 5, 1, 1}}) {
    for (const bool channels_last : {false, true}) {
      const int64_t rows = 5, columns = 8;
      const ConvProblem problem{.x = {2, c.channels, (rows - 1) * c.stride_h + c.kernel_h,
                                      (columns - 1) * c.stride_w + c.kernel_w},
                                .filter = {c.filters, c.channels, c.kernel_h, c.kernel_w},
                                .y = {2, c.filters, rows, columns},
                                .stride = {c.stride_h, c.stride_w},
                                .dilation = {1, 1},
                                .pad_begin = {0, 0},
                                .pad_end = {0, 0},
                                .channels_last = channels_last,
                                .type = TypeMeta::Make<float>()};
      EXPECT_NE(PlanConvolution(ConvDirection::kBackwardData, problem, H200()).engine, 0)
          << problem.ToString();
    }
  }
}

TEST(ConvolutionPlanTest, ThereIsAChoiceForMostLayers) {
  int with_choice = 0;
  for (const Layer& layer : Layers()) {
    const ConvProblem problem = ProblemOf(layer, TypeMeta::Make<float16>(), true, 256);
    const auto plan = PlanConvolution(ConvDirection::kForward, problem, H200(), 8);
    EXPECT_GE(plan.candidates, 1);
    EXPECT_LE(plan.candidates, 8);
    with_choice += plan.candidates > 1;
  }
  EXPECT_GE(with_choice, 12);
}

// Input gradients that are added to what is there.
TEST(ConvolutionPlanTest, InputGradientsCanAdd) {
  for (const Layer& layer : Layers()) {
    if (layer.channels == 3) continue;
    const ConvProblem problem = ProblemOf(layer, TypeMeta::Make<float16>(), true, 256);
    EXPECT_GE(PlanConvolution(ConvDirection::kBackwardData, problem, H200(), 1, true).engine, 0);
  }
}

// One spatial axis, three of them, groups and dilation.
TEST(ConvolutionPlanTest, UnusualShapes) {
  ConvProblem line;
  line.x = {2, 4, 9};
  line.filter = {6, 4, 3};
  line.y = {2, 6, 7};
  line.stride = line.dilation = {1};
  line.pad_begin = line.pad_end = {0};
  line.type = TypeMeta::Make<float>();
  EXPECT_GE(PlanConvolution(ConvDirection::kForward, line, H200()).engine, 0);

  ConvProblem grouped = ProblemOf({8, 16, 12, 3, 1}, TypeMeta::Make<float>(), false, 2);
  grouped.filter[1] = 4;  // two groups
  EXPECT_GE(PlanConvolution(ConvDirection::kForward, grouped, H200()).engine, 0);

  ConvProblem volume;
  volume.x = {1, 4, 5, 6, 7};
  volume.filter = {8, 4, 3, 3, 3};
  volume.y = {1, 8, 3, 4, 5};
  volume.stride = volume.dilation = {1, 1, 1};
  volume.pad_begin = volume.pad_end = {0, 0, 0};
  volume.type = TypeMeta::Make<float>();
  EXPECT_GE(PlanConvolution(ConvDirection::kForward, volume, H200()).engine, 0);
}

// What engines for tensor cores like least: odd channels, paddings that differ at both ends, groups
// and dilation, in all directions, types and orders.
TEST(ConvolutionPlanTest, UnusualShapesOfAllTypes) {
  ConvProblem uneven = ProblemOf({5, 7, 11, 3, 2}, TypeMeta::Make<float>(), false, 3);
  uneven.pad_begin = {0, 1};
  uneven.pad_end = {1, 2};
  uneven.y = {3, 7, 5, 6};
  ConvProblem grouped = ProblemOf({9, 15, 19, 3, 1}, TypeMeta::Make<float>(), false, 2);
  grouped.filter[1] = 3;  // three groups
  ConvProblem depthwise = ProblemOf({6, 12, 16, 3, 2}, TypeMeta::Make<float>(), false, 4);
  depthwise.filter[1] = 1;
  ConvProblem dilated = ProblemOf({6, 10, 16, 3, 1}, TypeMeta::Make<float>(), false, 4);
  dilated.dilation = dilated.pad_begin = dilated.pad_end = {2, 2};
  for (ConvProblem problem : {uneven, grouped, depthwise, dilated}) {
    for (const TypeMeta type :
         {TypeMeta::Make<float>(), TypeMeta::Make<float16>(), TypeMeta::Make<bfloat16>()}) {
      for (const bool channels_last : {false, true}) {
        problem.type = type;
        problem.channels_last = channels_last;
        for (const auto direction : {ConvDirection::kForward, ConvDirection::kBackwardData,
                                     ConvDirection::kBackwardFilter}) {
          EXPECT_GE(PlanConvolution(direction, problem, H200()).engine, 0) << problem.ToString();
        }
      }
    }
  }
}

// Here there is one: plans for it are made as runs make them, and its description is what tests
// elsewhere should take.
TEST(ConvolutionPlanTest, TheDeviceOfThisMachine) {
  if (DeviceCount() == 0) GTEST_SKIP() << DeviceProblem();
  SetDevice(0);
  const std::string device = DescribeDevice(0);
  std::cout << device << "\n";
  const ConvProblem problem = ProblemOf({64, 64, 56, 3, 1}, TypeMeta::Make<float16>(), true, 256);
  EXPECT_GE(PlanConvolution(ConvDirection::kForward, problem, device).engine, 0);
}

TEST(ConvolutionPlanTest, RefusesTypesItDoesNotHave) {
  ConvProblem problem = ProblemOf({4, 4, 8, 3, 1}, TypeMeta::Make<double>(), false, 1);
  EXPECT_THROW(PlanConvolution(ConvDirection::kForward, problem, H200()), EnforceNotMet);
}

}  // namespace
}  // namespace caffe2::cuda
