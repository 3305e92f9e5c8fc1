#include "tests/operators/scenarios/device_type_differences.h"

namespace caffe2::testing {
namespace {

// Images and activations.
constexpr const char* kFloat16[] = {"AffineChannel",   "AffineChannelGradient",
                                    "ChannelStats",    "InstanceNorm",
                                    "LayerNorm",       "PRelu",
                                    "PadImage",        "PadImageGradient",
                                    "ResizeNearest",   "Softmax",
                                    "SoftmaxGradient", "UpsampleNearest"};

// Losses.
constexpr const char* kBothHalves[] = {"Accuracy", "SoftmaxWithLoss"};

// Sums of segments.
constexpr const char* kBFloat16[] = {"LengthsMax",
                                     "LengthsMean",
                                     "LengthsSum",
                                     "SparseUnsortedSegmentMean",
                                     "SparseUnsortedSegmentSum",
                                     "UnsortedSegmentMean",
                                     "UnsortedSegmentSum"};

constexpr const char* kLengths[] = {"LengthsIndicesInGradientSumGradient",
                                    "SparseLengthsIndicesInGradientMeanGradient",
                                    "SparseLengthsIndicesInGradientSumGradient"};

std::map<std::string, TypeDifference> MakeDifferences() {
  std::map<std::string, TypeDifference> differences;
  for (const char* type : kFloat16) {
    differences[type] = {{"float16"}, {}, "the host computes images in float and bfloat16 only"};
  }
  for (const char* type : kBothHalves) {
    differences[type] = {{"float16", "bfloat16"}, {}, "losses on the host take float only"};
  }
  for (const char* type : kBFloat16) {
    differences[type] = {{"bfloat16"}, {}, "sums of segments on the host take float and float16"};
  }
  for (const char* type : kLengths) {
    differences[type] = {{},
                         {"float", "int32", "int64"},
                         "the CUDA version alone checks that the lengths add up to the entries"};
  }
  return differences;
}

}  // namespace

const std::map<std::string, TypeDifference>& DeviceTypeDifferences() {
  static const std::map<std::string, TypeDifference> differences = MakeDifferences();
  return differences;
}

}  // namespace caffe2::testing
