#include "tests/operators/scenarios/device_type_differences.h"

#include <vector>

namespace caffe2::testing {
namespace {

struct Group {
  std::set<std::string> only_cuda;
  const char* why;
  std::vector<const char*> types;
};

std::vector<Group> Groups() {
  return {
      {{"float16"},
       "the host computes images, convolutions and products in float and bfloat16 only",
       {"AffineChannel",
        "AffineChannelGradient",
        "AveragePool",
        "AveragePool1D",
        "AveragePool2D",
        "AveragePool3D",
        "BatchMatMul",
        "BatchToSpace",
        "ChannelBackpropStats",
        "ChannelStats",
        "Conv",
        "Conv1D",
        "Conv2D",
        "Conv3D",
        "ConvRelu",
        "ConvStats",
        "ConvSum",
        "ConvSumRelu",
        "FC",
        "FCTransposed",
        "GroupNorm",
        "InstanceNorm",
        "LRN",
        "LayerNorm",
        "MatMul",
        "MaxPool",
        "MaxPool1D",
        "MaxPool2D",
        "MaxPool3D",
        "NormReluConvStats",
        "NormSumNormRelu",
        "NormSumNormReluConvStats",
        "NormSumReluConvStats",
        "PRelu",
        "PadImage",
        "PadImageGradient",
        "ResizeNearest",
        "Softmax",
        "SoftmaxGradient",
        "SpaceToBatch",
        "SpatialBN",
        "SpatialBNFinalizeGradient",
        "SpatialBNRelu",
        "SpatialBNSumRelu",
        "UpsampleNearest"}},
      {{"float16", "bfloat16"},
       "losses and recurrent units on the host take float only",
       {"Accuracy", "GRUUnit", "GRUUnitGradient", "LSTMUnit", "LSTMUnitGradient", "SoftmaxWithLoss",
        "SpatialSoftmaxWithLoss"}},
      {{"float16", "bfloat16"},
       "the host takes bfloat16 too, but a bias of float only",
       {"ConvTranspose"}},
  };
}

std::map<std::string, TypeDifference> MakeDifferences() {
  std::map<std::string, TypeDifference> differences;
  for (const Group& group : Groups()) {
    for (const char* type : group.types) differences[type] = {group.only_cuda, {}, group.why};
  }
  return differences;
}

}  // namespace

const std::map<std::string, TypeDifference>& DeviceTypeDifferences() {
  static const std::map<std::string, TypeDifference> differences = MakeDifferences();
  return differences;
}

}  // namespace caffe2::testing
