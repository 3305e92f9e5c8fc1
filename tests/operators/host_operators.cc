#include "tests/operators/host_operators.h"

#include <gtest/gtest.h>

#include <sstream>

namespace caffe2::testing {
namespace {

struct Group {
  const char* reason;
  const char* types;  // with blanks between them
};

constexpr Group kGroups[] = {
    {"it steers the host: counters, flags and conditions are single numbers there",
     "AtomicFetchAdd AtomicIter CheckAtomicBool CheckCounterDone ConditionalSetAtomicBool "
     "CountDown CountUp CreateAtomicBool CreateCounter CreateMutex Iter ResetCounter "
     "RetrieveCount"},
    {"it runs nets, whose operators have devices of their own",
     "CreateScope Do HasScope If ONNXWhile While"},
    {"it fails on purpose", "Fail ThrowException"},
    {"it reads or writes files, databases or text",
     "Checkpoint CreateBlobsQueueDB CreateTextFileReader DBExists "
     "GivenTensorByteStringToUInt8Fill GivenTensorStringFill Load Print Save Snapshot "
     "StringEndsWith StringEquals StringJoin StringPrefix StringStartsWith StringSuffix "
     "Summarize TextFileReaderRead"},
    {"it is about stores",
     "FileStoreHandlerCreate MemoryStoreHandlerCreate RedisStoreHandlerCreate StoreAdd "
     "StoreGet StoreSet StoreWait"},
    {"its operands are no tensors: queues of blobs",
     "CloseBlobsQueue CloseRebatchingQueue CreateBlobsQueue CreateRebatchingQueue DequeueBlobs "
     "DequeueRebatchingQueue EnqueueBlobs EnqueueRebatchingQueue SafeDequeueBlobs "
     "SafeEnqueueBlobs WeightedSampleDequeueBlobs"},
    {"its operands are no tensors: maps, dictionaries, lists of tensors",
     "ConcatTensorVector CreateMap CreateTensorVector IndexFreeze IndexGet IndexLoad IndexSize "
     "IndexStore IntIndexCreate KeyValueToMap LongIndexCreate MapToKeyValue StringIndexCreate "
     "TensorVectorSize"},
    {"it is about the workspace or the process: blobs of any kind, statistics, clocks",
     "AveragePut EstimateAllBlobSizes GetAllBlobNames IncrementPut RecurrentNetworkBlobFetcher "
     "StatRegistryCreate StatRegistryExport StatRegistryUpdate StdDevPut TimerBegin TimerEnd "
     "TimerGet TimerGetAndEnd WallClockTime"},
    {"it reads or collects records in front of a network, where they come from the host",
     "Append AtomicAppend CheckDatasetConsistency CollectTensor ComputeOffset CreateTreeCursor "
     "ExtendTensor LastNWindowCollector PackRecords PadEmptySamples ReadNextBatch "
     "ReadRandomBatch RemoveDataBlocks ReservoirSampling ResetCursor SortAndShuffle "
     "TrimDataset UnPackRecords"},
    {"it makes ids and features out of records, as part of the input; its outputs are as long "
     "as the values say, which the host has to know",
     "DenseVectorToIdList FindDuplicateElements GatherByKey GatherRanges "
     "GatherRangesToDense IndexHash IsMemberOf KeySplit MergeDenseFeatureTensors "
     "MergeDenseFeatureTensorsGradient MergeIdLists MergeMultiListFeatureTensors "
     "MergeMultiListFeatureTensorsGradient MergeMultiMapFeatureTensors "
     "MergeMultiMapFeatureTensorsGradient MergeMultiScalarFeatureTensors "
     "MergeMultiScalarFeatureTensorsGradient MergeSingleListFeatureTensors "
     "MergeSingleListFeatureTensorsGradient MergeSingleMapFeatureTensors "
     "MergeSingleMapFeatureTensorsGradient MergeSingleScalarFeatureTensors "
     "MergeSingleScalarFeatureTensorsGradient NGramFromCategorical Partition "
     "SparseDropoutWithReplacement SplitByLengths StumpFuncIndex Unique"},
    {"tables of quantized rows are packed and served from host memory",
     "FloatToFused2BitFakeRowwiseQuantized FloatToFused2BitRowwiseQuantized "
     "FloatToFused4BitFakeRowwiseQuantized FloatToFused4BitRowwiseQuantized "
     "FloatToFused8BitRowwiseQuantized FloatToFused8BitRowwiseQuantizedHalfScaleBias "
     "FloatToFusedRandRowwiseQuantized FloatToRowwiseQuantized8Bits "
     "Fused2BitRowwiseQuantizedToFloat Fused2BitRowwiseQuantizedToHalf "
     "Fused4BitRowwiseQuantizedToFloat Fused4BitRowwiseQuantizedToHalf "
     "Fused8BitRowwiseQuantizedHalfScaleBiasToFloat "
     "Fused8BitRowwiseQuantizedHalfScaleBiasToHalfFloat Fused8BitRowwiseQuantizedToFloat "
     "Fused8BitRowwiseQuantizedToHalfFloat FusedRandRowwiseQuantizedToFloat "
     "GatherFused8BitRowwise HalfFloatToFused8BitRowwiseQuantized "
     "HalfFloatToFused8BitRowwiseQuantizedHalfScaleBias HalfToFused2BitFakeRowwiseQuantized "
     "HalfToFused2BitRowwiseQuantized HalfToFused4BitFakeRowwiseQuantized "
     "HalfToFused4BitRowwiseQuantized Rowwise8BitQuantizedToFloat "
     "SparseLengthsMean2BitRowwiseSparse SparseLengthsMean4BitRowwiseSparse "
     "SparseLengthsMean8BitRowwiseSparse SparseLengthsMean8BitsRowwise "
     "SparseLengthsMeanFused2BitRowwise SparseLengthsMeanFused4BitRowwise "
     "SparseLengthsMeanFused8BitRowwise SparseLengthsSum2BitRowwiseSparse "
     "SparseLengthsSum4BitRowwiseSparse SparseLengthsSum8BitRowwiseSparse "
     "SparseLengthsSum8BitsRowwise SparseLengthsSumFused2BitRowwise "
     "SparseLengthsSumFused4BitRowwise SparseLengthsSumFused8BitRowwise "
     "SparseLengthsSumSparseLookup SparseLengthsWeightedMean8BitsRowwise "
     "SparseLengthsWeightedSum2BitRowwiseSparse SparseLengthsWeightedSum4BitRowwiseSparse "
     "SparseLengthsWeightedSum8BitRowwiseSparse SparseLengthsWeightedSum8BitsRowwise "
     "SparseLengthsWeightedSumFused2BitRowwise SparseLengthsWeightedSumFused4BitRowwise "
     "SparseLengthsWeightedSumFused8BitRowwise"},
    {"quantized networks are for inference on the CPU",
     "Int8Add Int8AddRelu Int8AveragePool Int8AveragePoolRelu Int8ChannelShuffle Int8Concat "
     "Int8Conv Int8ConvRelu Int8ConvTranspose Int8Dequantize Int8FC Int8Flatten "
     "Int8GivenIntTensorFill Int8GivenTensorFill Int8LeakyRelu Int8MaxPool Int8MaxPoolRelu "
     "Int8Quantize Int8Relu Int8Reshape Int8ResizeNearest Int8RoIAlign Int8Sigmoid Int8Slice "
     "Int8Softmax Int8Sum Int8SumRelu Int8Transpose"},
    {"it works on boxes of detections, which are few, and sorted and dropped one after another",
     "BBoxTransform BoxWithNMSLimit CollectAndDistributeFpnRpnProposals CollectRpnProposals "
     "DistributeFpnProposals GenerateProposals GenerateProposalsCPP RMACRegions"},
    {"it decodes or samples one after another, at the end of inference",
     "CTCBeamSearchDecoder CTCGreedyDecoder HSoftmaxSearch HuffmanTreeHierarchy "
     "WeightedMultiSampling WeightedSample"},
    {"it measures and reports, outside of training steps",
     "APMeter AccumulateHistogram BisectPercentile Histogram MultiClassAccuracy Percentile "
     "Perplexity Quantile SelfBinningHistogram"},
    {"it fills or converts once, when a net is initialized or an image goes in or out",
     "BRGNCHWCToPackedInt8BGRAStylizerDeprocess Float16UniformFill GivenTensorInt16Fill "
     "PackedInt8BGRANHWCToNCHWCStylizerPreprocess"},
    {"it makes lengths, ranges or ids, which are small, and which say how long outputs are: "
     "the host has to know",
     "BooleanMaskLengths LengthsPartition LengthsRangeFill LengthsSplit LengthsToOffsets "
     "LengthsToRanges LengthsToSegmentIds LengthsToShape LengthsToWeights RangeFill "
     "SegmentIdsToLengths SegmentIdsToRanges"},
    {"it looks for values at which the run must end, which the host has to wait for",
     "Assert EnforceFinite NanCheck"},
};

std::map<std::string, std::string> ReadGroups() {
  std::map<std::string, std::string> reasons;
  for (const Group& group : kGroups) {
    std::istringstream types(group.types);
    for (std::string type; types >> type;) {
      EXPECT_TRUE(reasons.emplace(type, group.reason).second) << type << " is listed twice";
    }
  }
  return reasons;
}

}  // namespace

const std::map<std::string, std::string>& HostOperators() {
  static const std::map<std::string, std::string> reasons = ReadGroups();
  return reasons;
}

}  // namespace caffe2::testing
