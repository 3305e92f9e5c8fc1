// The operators of the trainers have CUDA versions of their own; the host does the work of others,
// but for those listed here, with the reason why they run on the host only.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/operator.h"
#include "caffe2/graph/conv_norm_fusion.h"
#include "caffe2/graph/fusion.h"
#include "caffe2/model/layers.h"
#include "caffe2/model/networks.h"
#include "caffe2/model/optimizer.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

// Type -> why it runs on the host only.
const std::map<std::string, std::string>& HostOnly() {
  static const std::map<std::string, std::string> reasons = [] {
    std::map<std::string, std::string> made;
    const auto add = [&made](const std::string& reason, const std::set<std::string>& types) {
      for (const std::string& type : types) made[type] = reason;
    };
    add("it steers the host: counters, rates and conditions are single numbers there",
        {"AtomicIter", "CheckCounterDone", "CountDown", "CountUp", "CreateCounter", "CreateMutex",
         "HasElements", "IsEmpty", "Iter", "ResetCounter", "RetrieveCount"});
    add("it runs nets, whose operators have devices of their own",
        {"CreateScope", "Do", "HasScope", "If", "ONNXWhile", "While"});
    add("it reads or writes files, databases or text",
        {"Checkpoint", "DBExists", "GivenTensorByteStringToUInt8Fill", "GivenTensorStringFill",
         "Load", "Print", "Save", "Snapshot", "Summarize"});
    add("it is about stores",
        {"FileStoreHandlerCreate", "MemoryStoreHandlerCreate", "RedisStoreHandlerCreate",
         "StoreAdd", "StoreGet", "StoreSet", "StoreWait"});
    add("it works on blobs of any kind", {"Free"});
    return made;
  }();
  return reasons;
}

// What networks and optimizers are made of.
const std::set<std::string>& WithKernels() {
  static const std::set<std::string> types = {"Abs",
                                              "Accuracy",
                                              "Acos",
                                              "Adadelta",
                                              "Adagrad",
                                              "Adam",
                                              "Add",
                                              "AffineChannel",
                                              "AffineChannelGradient",
                                              "AliasWithName",
                                              "And",
                                              "ArgMax",
                                              "ArgMin",
                                              "Asin",
                                              "Atan",
                                              "AveragePool",
                                              "AveragedLoss",
                                              "BatchGather",
                                              "BatchGatherGradient",
                                              "BatchMatMul",
                                              "BatchMoments",
                                              "BatchMomentsGradient",
                                              "BatchPermutation",
                                              "BatchPermutationGradient",
                                              "BatchToSpace",
                                              "Cast",
                                              "Cbrt",
                                              "ChannelShuffle",
                                              "ChannelShuffleGradient",
                                              "CheckFinite",
                                              "CheckFiniteAndUnscale",
                                              "Clip",
                                              "ClipTensorByNorm",
                                              "ClipTensorByScaling",
                                              "ColwiseMax",
                                              "ColwiseMaxGradient",
                                              "Concat",
                                              "ConstantFill",
                                              "Conv",
                                              "ConvTranspose",
                                              "ConvTransposeGradient",
                                              "Copy",
                                              "Cosh",
                                              "CosineEmbeddingCriterion",
                                              "CosineSimilarity",
                                              "CreateDB",
                                              "CrossEntropy",
                                              "Cube",
                                              "DecayAdagrad",
                                              "Div",
                                              "DotProduct",
                                              "Dropout",
                                              "EMA",
                                              "EQ",
                                              "ElementwiseLinear",
                                              "ElementwiseLinearGradient",
                                              "Elu",
                                              "EnsureDense",
                                              "Erf",
                                              "Exp",
                                              "Expand",
                                              "ExpandDims",
                                              "ExpandGradient",
                                              "FC",
                                              "FP16MomentumSGDUpdate",
                                              "FP32MomentumSGDUpdate",
                                              "Flatten",
                                              "FlattenToVec",
                                              "Float16SparseNormalize",
                                              "FloatToHalf",
                                              "Ftrl",
                                              "GE",
                                              "GFtrl",
                                              "GRUUnit",
                                              "GRUUnitGradient",
                                              "GT",
                                              "Gather",
                                              "Gelu",
                                              "GeluGradient",
                                              "Glu",
                                              "GroupNorm",
                                              "GroupNormGradient",
                                              "HalfToFloat",
                                              "HardSigmoid",
                                              "ImageInput",
                                              "InstanceNorm",
                                              "InstanceNormGradient",
                                              "L1Distance",
                                              "LE",
                                              "LRN",
                                              "LRNGradient",
                                              "LSTMUnit",
                                              "LSTMUnitGradient",
                                              "LT",
                                              "LabelCrossEntropy",
                                              "Lars",
                                              "LayerNorm",
                                              "LayerNormGradient",
                                              "LeakyRelu",
                                              "LearningRateAdaption",
                                              "LengthsGather",
                                              "LengthsMax",
                                              "LengthsMean",
                                              "LengthsSum",
                                              "LengthsSumGradient",
                                              "LengthsTile",
                                              "LengthsWeightedSum",
                                              "Log",
                                              "Log1p",
                                              "Logit",
                                              "LpNorm",
                                              "LpNormGradient",
                                              "MakeTwoClass",
                                              "MarginRankingCriterion",
                                              "MatMul",
                                              "Max",
                                              "MaxGradient",
                                              "MaxPool",
                                              "Mean",
                                              "MeanGradient",
                                              "MergeDim",
                                              "Min",
                                              "MinGradient",
                                              "Mish",
                                              "MishGradient",
                                              "Moments",
                                              "MomentsGradient",
                                              "MomentumSGD",
                                              "MomentumSGDUpdate",
                                              "Mul",
                                              "NCHW2NHWC",
                                              "NE",
                                              "NHWC2NCHW",
                                              "Negative",
                                              "Normalize",
                                              "NormalizeL1",
                                              "Not",
                                              "Or",
                                              "PRelu",
                                              "PReluGradient",
                                              "PackSegments",
                                              "PadImage",
                                              "PadImageGradient",
                                              "Pow",
                                              "PowGradient",
                                              "PrependDim",
                                              "RMSNorm",
                                              "RMSNormGradient",
                                              "Reciprocal",
                                              "ReduceBackMax",
                                              "ReduceBackMaxGradient",
                                              "ReduceBackMean",
                                              "ReduceBackMeanGradient",
                                              "ReduceBackSum",
                                              "ReduceBackSumGradient",
                                              "ReduceFrontMax",
                                              "ReduceFrontMaxGradient",
                                              "ReduceFrontMean",
                                              "ReduceFrontMeanGradient",
                                              "ReduceFrontSum",
                                              "ReduceFrontSumGradient",
                                              "ReduceFrontWeightedSum",
                                              "ReduceL1",
                                              "ReduceL2",
                                              "ReduceMax",
                                              "ReduceMean",
                                              "ReduceMin",
                                              "ReduceSum",
                                              "ReduceTailSum",
                                              "Relu",
                                              "ReluN",
                                              "ReplaceNaN",
                                              "Reshape",
                                              "ResizeLike",
                                              "ResizeNearest",
                                              "ResizeNearestGradient",
                                              "RmsProp",
                                              "RoIAlign",
                                              "RoIAlignGradient",
                                              "RoIAlignRotated",
                                              "RoIPool",
                                              "RoIPoolGradient",
                                              "RowMul",
                                              "RowWiseSparseAdagrad",
                                              "RowWiseSparseAdam",
                                              "RowwiseMax",
                                              "RowwiseMaxGradient",
                                              "Rsqrt",
                                              "SWA",
                                              "Scale",
                                              "ScatterAssign",
                                              "ScatterWeightedSum",
                                              "Selu",
                                              "SequenceMask",
                                              "Shape",
                                              "Sigmoid",
                                              "SigmoidCrossEntropyWithLogits",
                                              "SigmoidCrossEntropyWithLogitsGradient",
                                              "Sign",
                                              "Sinh",
                                              "Size",
                                              "Slice",
                                              "SliceGradient",
                                              "SmartDecaySparseAdam",
                                              "Softmax",
                                              "SoftmaxWithLoss",
                                              "Softplus",
                                              "Softsign",
                                              "SortedSegmentMean",
                                              "SortedSegmentMeanGradient",
                                              "SortedSegmentSum",
                                              "SortedSegmentSumGradient",
                                              "SortedSegmentWeightedSum",
                                              "SortedSegmentWeightedSumGradient",
                                              "SpaceToBatch",
                                              "SparseAdadelta",
                                              "SparseAdagrad",
                                              "SparseAdam",
                                              "SparseFtrl",
                                              "SparseLengthsIndicesInGradientSumGradient",
                                              "SparseLengthsIndicesInGradientWeightedSumGradient",
                                              "SparseLengthsMean",
                                              "SparseLengthsSum",
                                              "SparseLengthsWeightedSum",
                                              "SparseMomentumSGDUpdate",
                                              "SparseNormalize",
                                              "SparseSortedSegmentMean",
                                              "SparseSortedSegmentMeanGradient",
                                              "SparseSortedSegmentSum",
                                              "SparseSortedSegmentSumGradient",
                                              "SparseSortedSegmentWeightedSum",
                                              "SparseSortedSegmentWeightedSumGradient",
                                              "SparseStorm",
                                              "SparseToDense",
                                              "SparseUnsortedSegmentMean",
                                              "SparseUnsortedSegmentMeanGradient",
                                              "SparseUnsortedSegmentSum",
                                              "SparseUnsortedSegmentSumGradient",
                                              "SparseUnsortedSegmentWeightedSum",
                                              "SparseUnsortedSegmentWeightedSumGradient",
                                              "SparseWngrad",
                                              "SpatialBN",
                                              "SpatialSoftmaxWithLoss",
                                              "SpatialSoftmaxWithLossGradient",
                                              "Split",
                                              "Sqr",
                                              "Sqrt",
                                              "SquaredL2Distance",
                                              "SquaredL2DistanceGradient",
                                              "Squeeze",
                                              "StopGradient",
                                              "Storm",
                                              "Sub",
                                              "Sum",
                                              "SumElements",
                                              "SumReduceLike",
                                              "SumSqrElements",
                                              "Swish",
                                              "SwishGradient",
                                              "Tan",
                                              "Tanh",
                                              "TensorProtosDBInput",
                                              "ThresholdedRelu",
                                              "Tile",
                                              "TileGradient",
                                              "TopK",
                                              "TopKGradient",
                                              "Transpose",
                                              "UnpackSegments",
                                              "UnsortedSegmentMean",
                                              "UnsortedSegmentMeanGradient",
                                              "UnsortedSegmentSum",
                                              "UnsortedSegmentSumGradient",
                                              "UnsortedSegmentWeightedSum",
                                              "UnsortedSegmentWeightedSumGradient",
                                              "UpdateLossScale",
                                              "UpsampleBilinear",
                                              "UpsampleBilinearGradient",
                                              "UpsampleNearest",
                                              "UpsampleNearestGradient",
                                              "WeightScale",
                                              "WeightedSigmoidCrossEntropyWithLogits",
                                              "WeightedSigmoidCrossEntropyWithLogitsGradient",
                                              "WeightedSum",
                                              "WeightedSumGradient",
                                              "Where",
                                              "Wngrad",
                                              "Xor",
                                              "YellowFin"};
  return types;
}

// What the training nets of LeNet and of the ResNets are made of, with all fusions.
std::set<std::string> TypesOfTrainers() {
  std::set<std::string> types;
  for (const std::string network : {"lenet", "resnet20_cifar", "resnet50"}) {
    ModelHelper model("m", {});
    NetworkOptions shape;
    shape.image_size = network == "lenet" ? 28 : network == "resnet50" ? 224 : 32;
    const std::string scores = AddNetwork(&model, network, "data", shape);
    const auto [softmax, loss] = brew::SoftmaxWithLoss(&model, scores, "label", "softmax", "loss");
    brew::Accuracy(&model, softmax, "label", "accuracy");
    FuseOperators(model.net(), {});
    FuseConvolutionsWithNorms(model.net(), ConvNormFusion::kResidual);
    model.AddGradientOperators({{loss, ""}});
    AddWeightDecay(&model, 1e-4f);
    if (network == "lenet") {
      BuildAdam(&model, {});
    } else {
      BuildSgd(&model, {});
    }
    for (const NetDef* net : {model.net(), model.param_init_net()}) {
      for (const OperatorDef& op : net->op()) types.insert(op.type());
    }
  }
  return types;
}

std::set<std::string> TypesOf(DeviceType device) {
  std::set<std::string> types;
  for (const std::string& key : DeviceOperatorRegistry(device)->Keys()) {
    types.insert(key.substr(0, key.find("_ENGINE_")));
  }
  return types;
}

TEST(CudaRegistryTest, WhatIsListedAsHostOnlyIs) {
  if (!LoadDeviceBackend(CUDA)) GTEST_SKIP() << DeviceProblem(CUDA);
  const std::set<std::string> cpu = TypesOf(CPU), cuda = TypesOf(CUDA);
  for (const auto& [type, reason] : HostOnly()) {
    EXPECT_TRUE(cpu.count(type)) << type << " does not exist";
    EXPECT_FALSE(cuda.count(type)) << type << " has a CUDA version";
  }
}

TEST(CudaRegistryTest, OperatorsOfNetworksHaveCudaVersions) {
  if (!LoadDeviceBackend(CUDA)) GTEST_SKIP() << DeviceProblem(CUDA);
  const std::set<std::string> cuda = TypesOf(CUDA);
  for (const std::string& type : WithKernels()) EXPECT_TRUE(cuda.count(type)) << type;
}

TEST(CudaRegistryTest, EveryOperatorOfTheTrainersHasACudaVersion) {
  if (!LoadDeviceBackend(CUDA)) GTEST_SKIP() << DeviceProblem(CUDA);
  const std::set<std::string> cuda = TypesOf(CUDA);
  for (const std::string& type : TypesOfTrainers()) {
    EXPECT_TRUE(cuda.count(type) || HostOnly().count(type)) << type;
  }
}

TEST(CudaRegistryTest, CudaOperatorsHaveSchemas) {
  if (!LoadDeviceBackend(CUDA)) GTEST_SKIP() << DeviceProblem(CUDA);
  for (const std::string& type : TypesOf(CUDA)) {
    if (type == "HostFallback") continue;  // it stands for others
    EXPECT_NE(OpSchemaRegistry::Schema(type), nullptr) << type;
  }
}

}  // namespace
}  // namespace caffe2::testing
