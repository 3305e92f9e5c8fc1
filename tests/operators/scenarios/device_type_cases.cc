#include "tests/operators/scenarios/device_type_cases.h"

#include <utility>

#include "tests/operators/scenarios/device_agreement_rows.h"

namespace caffe2::testing {
namespace {

CaseInput Indices(std::vector<int> values, const std::string& type = "int32") {
  const auto size = static_cast<int64_t>(values.size());
  return {{size}, type, std::move(values)};
}

void Add(std::vector<TypeCase> more, std::vector<TypeCase>* all) {
  all->insert(all->end(), more.begin(), more.end());
}

// Each case of `types` with the same inputs and arguments.
void AddEach(const std::vector<std::string>& types, TypeCase like, std::vector<TypeCase>* all) {
  for (const std::string& type : types) {
    like.type = type;
    all->push_back(like);
  }
}

const CaseInput kImage{{2, 4, 5, 5}}, kChannels{{4}}, kFilter{{6, 4, 3, 3}}, kBias{{6}};
const CaseInput kFloatChannels{{4}, "float"}, kFloatFilter{{6, 4, 3, 3}, "float"};
const CaseInput kFloatBias{{6}, "float"}, kOutput{{2, 6, 3, 3}}, kNormalizer{{6, 4}, "float"};
const std::vector<int> kThree{3}, kThrees{3, 3, 3}, kTwo{2}, kTwos{2, 2, 2};

void AddConvolutions(std::vector<TypeCase>* all) {
  const auto kernel = Args("kernel", 3);
  const CaseInput filter_1d{{6, 4, 3}}, filter_3d{{3, 2, 3, 3, 3}};
  for (const char* type : {"Conv", "Conv2D", "ConvRelu"}) {
    all->push_back({type, {kImage, kFilter, kBias}, kernel});
    all->push_back({type, {kImage, kFloatFilter, kFloatBias}, kernel});
  }
  AddEach({"ConvSum", "ConvSumRelu"}, {"", {kImage, kFilter, kBias, kOutput}, kernel}, all);
  Add({{"Conv1D", {{{2, 4, 5}}, filter_1d, kBias}, Args("kernels", kThree)},
       {"Conv3D", {{{1, 2, 3, 4, 5}}, filter_3d, {{3}}}, Args("kernels", kThrees)},
       {"ConvTranspose", {kImage, {{4, 6, 3, 3}}, kBias}, kernel},
       {"ConvTranspose", {kImage, {{4, 6, 3, 3}, "float"}, kFloatBias}, kernel},
       {"LC", {kImage, {{3, 3, 6, 4, 3, 3}}, {{3, 3, 6}}}, kernel},
       {"LC2D", {kImage, {{3, 3, 6, 4, 3, 3}}, {{3, 3, 6}}}, kernel},
       {"LC1D", {{{1, 1, 3}}, {{2, 1, 1, 2}}, {{2, 1}}}, Args("kernels", kTwo)},
       {"LC3D",
        {{{2, 2, 2, 3, 2}}, {{1, 2, 1, 3, 2, 2, 2, 2}}, {{1, 2, 1, 3}}},
        Args("kernels", kTwos)},
       {"Im2Col", {kImage}, kernel},
       {"Col2Im", {{{2, 36, 3, 3}}, kImage}, kernel},
       {"ConvStats", {kImage, kFilter}, kernel, 3},
       {"NormReluConvStats", {kImage, kNormalizer, kFilter}, kernel, 3},
       {"NormSumReluConvStats", {kImage, kNormalizer, kImage, kFilter}, kernel, 4},
       {"NormSumNormReluConvStats",
        {kImage, kNormalizer, kImage, kNormalizer, kFilter},
        kernel,
        4}},
      all);
}

void AddPools(std::vector<TypeCase>* all) {
  AddEach({"AveragePool", "AveragePool2D", "MaxPool", "MaxPool2D", "LpPool"},
          {"", {kImage}, Args("kernel", 2)}, all);
  AddEach({"AveragePool1D", "MaxPool1D"}, {"", {{{2, 4, 5}}}, Args("kernels", kTwo)}, all);
  AddEach({"AveragePool3D", "MaxPool3D"}, {"", {{{1, 2, 3, 3, 3}}}, Args("kernels", kTwos)}, all);
}

void AddProducts(std::vector<TypeCase>* all) {
  const CaseInput x{{4, 3}}, pruned{{2, 3}}, one{{1}};
  const auto unit = Args("sequence_lengths", 0);
  Add({{"FC", {x, {{5, 3}}, {{5}}}},
       {"FC", {x, {{5, 3}, "float"}, {{5}, "float"}}},
       {"FCTransposed", {x, {{3, 5}}, {{5}}}},
       {"FCTransposed", {x, {{3, 5}, "float"}, {{5}, "float"}}},
       {"FC_Prune", {x, pruned, pruned, {{2}}, pruned, pruned, one, one}, {}, 2, {}},
       {"FCGradient_Prune", {x, pruned, pruned, {{4, 2}}, pruned, pruned, one, one}, {}, 7, {}},
       {"FC_Sparse",
        {{{5, 4}}, {{4}}, Indices({0, 2, 2, 4}), Indices({1, 3, 0, 3}), {{3}}},
        {},
        1,
        {}},
       {"MatMul", {x, {{3, 5}}}},
       {"BatchMatMul", {{{2, 4, 3}}, {{2, 3, 5}}}},
       {"TT",
        {{{4, 12}}, {{6}}, {{42}}},
        Args("inp_sizes", std::vector<int>{2, 3, 2}, "out_sizes", std::vector<int>{3, 1, 2},
             "tt_ranks", std::vector<int>{1, 2, 3, 1}),
        1,
        {}},
       {"LSTMUnit", {{{1, 3, 5}}, {{1, 3, 5}}, {{1, 3, 20}}, Indices({2})}, unit, 2, {0, 1}},
       {"GRUUnit", {{{1, 3, 5}}, {{1, 3, 15}}, Indices({2})}, unit}},
      all);
}

void AddNormalizations(std::vector<TypeCase>* all) {
  const CaseInput c = kChannels, f = kFloatChannels, constants{{6, 4}, "float"};
  const auto group = Args("group", 2);
  for (const CaseInput& v : {c, f}) {
    AddEach({"SpatialBN", "SpatialBNRelu"}, {"", {kImage, v, v, v, v}, {}, 5}, all);
    Add({{"SpatialBNSumRelu", {kImage, v, v, v, v, kImage}, {}, 5},
         {"SpatialBNFinalize", {kImage, v, v, v, v, v, v}, {}, 4, {}},
         {"GroupNorm", {kImage, v, v}, group, 3},
         {"InstanceNorm", {kImage, v, v}, {}, 3},
         {"AffineChannel", {kImage, v, v}, Args("is_learnable", 1)},
         {"ChannelBackpropStats", {kImage, v, v, kImage}, {}, 2, {}},
         {"PRelu", {kImage, v}}},
        all);
  }
  const CaseInput sums{{2, 4}, "float"};
  Add({{"SpatialBNFinalizeGradient", {kImage, constants, kImage, sums}, {}, 3, {}},
       {"NormSumNormRelu", {kImage, constants, kImage, constants}},
       {"LRN", {kImage}, Args("size", 3, "alpha", 0.5f, "beta", 0.75f), 2},
       {"LayerNorm", {{{4, 3}}}, {}, 3},
       {"RMSNorm", {{{4, 3}}, {{3}}, {{3}}}, {}, 2},
       {"Moments", {{{4, 3}}}, {}, 2, {0, 1}},
       {"BatchMoments", {kImage}, {}, 2, {0, 1}},
       {"LpNorm", {{{4, 3}}}}},
      all);
}

void AddImages(std::vector<TypeCase>* all) {
  const auto scales = Args("width_scale", 2.f, "height_scale", 2.f);
  const CaseInput boxes{{2, 5}}, rotated{{2, 6}};
  const auto pooled = Args("pooled_h", 2, "pooled_w", 2);
  AddEach({"ResizeNearest", "UpsampleBilinear"}, {"", {kImage}, scales}, all);
  AddEach({"UpsampleNearest", "IntegralImage"}, {"", {kImage}}, all);
  Add({{"SpaceToBatch", {{{1, 1, 2, 4}}}},
       {"BatchToSpace", {{{4, 1, 1, 2}}}},
       {"RoIAlign", {kImage, boxes}, pooled},
       {"RoIAlign", {kImage, {{2, 5}, "float"}}, pooled},
       {"RoIAlignRotated", {kImage, rotated}, pooled},
       {"RoIAlignRotated", {kImage, {{2, 6}, "float"}}, pooled},
       {"RoIPool", {kImage, boxes}, pooled, 2},
       {"RoIPoolF", {kImage, boxes}, pooled, 2},
       {"PSRoIPool", {kImage, boxes}, Args("group_size", 2), 2},
       {"SpatialNarrowAs", {kImage, kImage}},
       {"MixImages",
        {kImage, Indices({2, 1})},
        Args("mixup_alpha", 1.f, "cutmix_alpha", 1.f, "num_labels", 6),
        2,
        {}}},
      all);
}

void AddLosses(std::vector<TypeCase>* all) {
  const CaseInput x{{4, 3}}, labels = Indices({1, 0, 2, 1}), one{{1}},
                             signs = Indices({1, -1, 1, 1});
  Add({{"AveragedLoss", {x}},
       {"CrossEntropy", {x, x}},
       {"LabelCrossEntropy", {x, labels}},
       {"MakeTwoClass", {{{4, 1}}}},
       {"CosineEmbeddingCriterion", {{{4}}, signs}},
       {"MarginRankingCriterion", {{{4}}, {{4}}, signs}},
       {"PairWiseLoss", {{{4, 1}}, {{4}}}},
       {"LambdaRankNdcg", {{{4}}, {{4}}, Indices({2, 2})}, {}, 2},
       {"SigmoidCrossEntropyWithLogits", {x, x}},
       {"WeightedSigmoidCrossEntropyWithLogits", {x, x, x}},
       {"SoftmaxWithLoss", {x, labels}, {}, 2, {1}},
       {"SpatialSoftmaxWithLoss", {{{1, 2, 1, 2}}, {{1, 1, 2}, "int32", {1, 0}}}, {}, 2, {1}},
       {"CheckFinite", {one, x}, {}, 2, {}},
       {"CheckFiniteAndUnscale", {one, x}, {}, 2, {}},
       {"UpdateLossScale", {one, Indices({0}), one}, Args("growth_interval", 3), 2, {}}},
      all);
}

// Losses of images: Detectron's.
void AddDetectionLosses(std::vector<TypeCase>* all) {
  const CaseInput x{{4, 3}}, targets{{4, 3}, "int32"}, labels{{2, 2, 5, 5}, "int32"};
  const CaseInput count{{1}, "float"}, boxes{{2, 4}};
  const auto classes = Args("num_classes", 2);
  Add({{"SmoothL1Loss", {x, x, x, x}},
       {"SelectSmoothL1Loss", {kImage, boxes, boxes, count}},
       {"SigmoidCrossEntropyLoss", {x, targets}},
       {"SigmoidFocalLoss", {kImage, labels, count}, classes},
       {"SoftmaxFocalLoss", {kImage, labels, count}, classes, 2},
       {"GroupSpatialSoftmax", {kImage}, classes},
       {"SampleAs", {x, Indices({1, 0, 2, 1})}}},
      all);
}

void AddReductions(std::vector<TypeCase>* all) {
  const CaseInput x{{4, 3}}, rows{{2, 2, 3}};
  AddEach({"ReduceBackMax", "ReduceBackMean", "ReduceBackSum", "ReduceFrontMax", "ReduceFrontMean",
           "ReduceFrontSum", "ReduceL1", "ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin",
           "ReduceSum", "SumElements", "ElementwiseLinear"},
          {"", {x}}, all);
  all->back().inputs = {x, {{3}}, {{3}}};
  AddEach({"ColwiseMax", "RowwiseMax"}, {"", {rows}}, all);
  Add({{"TopK", {x}, Args("k", 2), 2},
       {"FlexibleTopK", {x, Indices({1, 2, 3, 1})}, {}, 2},
       {"WeightedSum", {x, {{1}}, x, {{1}}}},
       {"Squeeze", {{{4, 1, 3}}}, Args("dims", std::vector<int>{1})},
       {"PrependDim", {x}, Args("dim_size", 2)},
       {"SequenceMask", {x}, Args("mode", std::string("upper"), "axis", 1, "fill_val", -5.f)},
       {"Dropout", {x}, {}, 2},
       {"Bucketize", {x}, Args("boundaries", std::vector<float>{0, 1, 2}), 1, {}},
       {"Range", {{{}, "", {3}}}, {}, 1, {}},
       {"ZeroGradient", {x}, {}, 0, {}},
       {"UnsafeCoalesce", {x, {{2}}}, {}, 3, {}}},
      all);
}

void AddSegments(std::vector<TypeCase>* all) {
  const CaseInput x{{4, 3}}, w{{4}}, d{{2, 3}}, lengths = Indices({1, 3}),
                                                ids = Indices({0, 0, 1, 1});
  const CaseInput rows = Indices({0, 1, 0, 1});
  AddEach({"SortedSegmentSum", "SortedSegmentMean", "SortedSegmentRangeSum",
           "SortedSegmentRangeMean", "SortedSegmentRangeMax", "SortedSegmentRangeLogSumExp",
           "SortedSegmentRangeLogMeanExp", "UnsortedSegmentSum", "UnsortedSegmentMean"},
          {"", {x, ids}}, all);
  AddEach({"LengthsSum", "LengthsMean", "LengthsMax"}, {"", {x, lengths}}, all);
  AddEach({"SparseSortedSegmentSum", "SparseSortedSegmentMean", "SparseUnsortedSegmentSum",
           "SparseUnsortedSegmentMean"},
          {"", {d, rows, ids}}, all);
  AddEach({"SortedSegmentWeightedSum", "UnsortedSegmentWeightedSum"}, {"", {x, w, ids}}, all);
  AddEach({"SparseSortedSegmentWeightedSum", "SparseUnsortedSegmentWeightedSum"},
          {"", {d, w, rows, ids}}, all);
  AddEach({"SparseLengthsSum", "SparseLengthsMean"}, {"", {d, rows, lengths}}, all);
  AddEach({"LengthsIndicesInGradientSumGradient"}, {"", {d, lengths, x}, {}, 1, {}}, all);
  AddEach({"SparseLengthsIndicesInGradientMeanGradient"}, {"", {d, lengths, rows}, {}, 1, {}}, all);
  for (const int on_weights : {0, 1}) {
    const auto grad = Args("grad_on_weights", on_weights);
    Add({{"LengthsWeightedSum", {x, w, lengths}, grad},
         {"SparseLengthsWeightedSum", {d, w, rows, lengths}, grad}},
        all);
  }
  Add({{"SparseLengthsWeightedSumGradient", {w, d, lengths}, {}, 1, {}},
       {"SparseLengthsWeightedSumWithMainInputGradient", {w, d, lengths, d, rows}, {}, 2, {}},
       {"SparseLengthsPositionalWeightedSum", {d, {{3}}, rows, lengths}, {}, 1, {}},
       {"TTSparseLengthsSum",
        {{{2, 1, 2, 3}},
         {{3, 3, 1, 2}},
         {{4, 2, 3, 1}},
         Indices({0, 23, 7}, "int64"),
         Indices({1, 2})},
        Args("emb_size", 6),
        4},
       {"LengthsPad", {x, lengths}, Args("target_length", 3), 1, {}},
       {"LengthsTopK", {w, lengths}, Args("k", 2), 2},
       {"PackSegments", {lengths, x}},
       {"UnpackSegments", {lengths, {{2, 3, 2}}}}},
      all);
}

void AddSparse(std::vector<TypeCase>* all) {
  const CaseInput x{{4, 3}}, mask{{4}, "bool"}, one{{1}}, places = Indices({2, 0, 1});
  const CaseInput columns = Indices({3, 0, 1}, "int64");
  const auto dense = Args("dense_last_dim", 4);
  Add({{"BatchGather", {x, Indices({1, 2})}},
       {"BatchPermutation", {x, Indices({2, 0, 3, 1})}},
       {"BooleanMask", {x, mask}, {}, 2},
       {"BooleanUnmask", {mask, {{2}}, {{4}, "bool", {0, 1, 0, 1}}, {{2}}}, {}, 1, {}},
       {"BatchDenseToSparse", {places, columns, {{3, 4}}}, dense},
       {"BatchSparseToDense", {places, columns, {{3}}}, dense},
       {"BatchOneHot", {{{2, 2}}, Indices({2, 1}), {{3}}}, {}, 1, {}},
       {"BatchBucketOneHot", {{{2, 2}}, Indices({2, 1}), {{3}, "", {0, 1, 2}}}, {}, 1, {}},
       {"BatchBucketize",
        {{{1, 3}}, Indices({2, 0}), {{3}, "", {0, 1, 2}}, Indices({1, 2})},
        {},
        1,
        {}},
       {"OneHot", {Indices({2, 0}, "int64"), Indices({3}, "int64")}, {}, 1, {}},
       {"OneHot", {{{2}}, Indices({3}, "int64")}, {}, 1, {}},
       {"SegmentOneHot",
        {Indices({2, 1}), Indices({4, 0, 4}, "int64"), Indices({5}, "int64")},
        {},
        1,
        {}},
       {"SparseToDenseMask",
        {Indices({7, 2}, "int64"), {{2}}, one, Indices({1, 1})},
        Args("mask", std::vector<int>{2, 7, 5})},
       {"ScatterWeightedSum", {x, one, Indices({2, 0}), {{2, 3}}, one}, {}, 1, {}},
       {"ScatterWeightedSum",
        {x, {{1}, "float"}, Indices({2, 0}), {{2, 3}}, {{1}, "float"}},
        {},
        1,
        {}},
       {"rnn_internal_accumulate_gradient_input",
        {Indices({1}), {{2, 2}}, {{3, 2}}},
        Args("offset", 1),
        1,
        {}},
       {"rnn_internal_apply_link",
        {Indices({0}), {{4, 2}}},
        Args("offset", 1, "window", 2),
        2,
        {}}},
      all);
}

// Update rules that are no functions of each element.
void AddUpdates(std::vector<TypeCase>* all) {
  const CaseInput p{{4, 3}}, grads{{2, 3}}, rows = Indices({2, 0}), one{{1}}, lr{{1}, "float"};
  const CaseInput iter{{1}, "int64"};
  Add({{"Storm", {p, p, one, p, lr}, {}, 3, {}},
       {"SparseStorm", {p, p, one, grads, rows, lr}, {}, 3, {}},
       {"Wngrad", {p, one, p, lr}, {}, 2, {}},
       {"SparseWngrad", {p, one, rows, grads, lr}, {}, 2, {}},
       {"RowWiseSparseAdagrad", {p, {{4}}, rows, grads, lr}, {}, 2, {}},
       {"RowWiseSparseAdam", {p, p, {{4}}, rows, grads, lr, iter}, {}, 3, {}},
       {"MaskedRowWiseSparseAdagrad",
        {p, {{4}}, rows, grads, lr, {{4, 1}, "uint8"}, {{1}, "bool"}},
        {},
        2,
        {}},
       {"GFtrl", {p, {{4, 3, 2}}, p, one}, {}, 2, {}},
       {"YellowFin",
        {p, p, one, one, {{3}}, p, p, {{5}}, p, iter},
        Args("curv_win_width", 3),
        8,
        {}},
       {"LearningRate", {{{1}}}, Args("policy", std::string("fixed"), "base_lr", 2.f), 1, {}},
       {"LearningRateAdaption", {one, p, p}, {}, 1, {}}},
      all);
}

// An input of a Row, as device_agreement_test.cc has it, for four rows of three.
CaseInput SmallInput(In kind) {
  switch (kind) {
    case In::kAny:
    case In::kModest:
    case In::kPositive:
    case In::kInside:
    case In::kChosen:
      break;
    case In::kRowFactors:
      return {{4}};
    case In::kColumns:
    case In::kPositiveColumns:
      return {{3}};
    case In::kBool:
      return {{4, 3}, "bool"};
    case In::kRowBool:
      return {{4}, "bool"};
    case In::kFlag:
      return {{1}, "bool"};
    case In::kRate:
    case In::kNorm:
      return {{1}, "float"};
    case In::kIter:
      return {{1}, "int64"};
    case In::kIndices:
      return Indices({2, 0});
    case In::kFloats:
      return {{4, 3}, "float"};
    case In::kPairs:
      return {{4, 3, 2}, "float"};
    case In::kRows:
      return {{2, 3}, "float"};
    case In::kLastSeen:
      return {{4}, "int64"};
    case In::kCounts:
      return {{4}, "double"};
    case In::kMaskBits:
      return {{4, 1}, "uint8"};
    case In::kThreeGates:
      return {{4, 9}};
    case In::kFourGates:
      return {{4, 12}};
    case In::kLengths:
      return {{4}, "int32"};
    case In::kTimestep:
      return {{1}, "int32"};
  }
  return {{4, 3}};
}

// The elementwise operators, recurrent units and update rules.
void AddAgreementRows(std::vector<TypeCase>* all) {
  for (const Row& row : AgreementRows()) {
    std::vector<CaseInput> inputs;
    for (const In kind : row.inputs) inputs.push_back(SmallInput(kind));
    all->push_back({row.type, inputs, row.args, static_cast<int>(row.outputs.size()), {}});
  }
}

}  // namespace

std::vector<TypeCase> TypeCases() {
  std::vector<TypeCase> all;
  AddConvolutions(&all);
  AddPools(&all);
  AddProducts(&all);
  AddNormalizations(&all);
  AddImages(&all);
  AddLosses(&all);
  AddDetectionLosses(&all);
  AddReductions(&all);
  AddSegments(&all);
  AddSparse(&all);
  AddUpdates(&all);
  AddAgreementRows(&all);
  return all;
}

const std::map<std::string, std::string>& TypesNotCompared() {
  static const std::map<std::string, std::string> types = {
      {"HSoftmax", "its hierarchy of classes is a message in an argument"},
      {"HSoftmaxGradient", "see HSoftmax"},
      {"RecurrentNetwork", "its net is a message in an argument"},
      {"RecurrentNetworkGradient", "see RecurrentNetwork"},
      {"TensorProtosDBInput", "its input is a reader"},
  };
  return types;
}

}  // namespace caffe2::testing
