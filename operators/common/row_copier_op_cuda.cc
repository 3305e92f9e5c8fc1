// Operators that put rows together on CUDA devices, by lists that the host or the device makes.
#include "caffe2/cuda/kernel_reports.h"
#include "operators/common/copy_elements.h"
#include "operators/common/portable_cuda.h"
#include "operators/common/row_copier_cuda.h"
#include "operators/segment/lengths_rows_op.h"
#include "operators/sequence/pack_rnn_sequence_op.h"
#include "operators/sequence/pack_segments_op.h"
#include "operators/sequence/padding_op.h"
#include "operators/sparse/batch_permutation_op.h"
#include "operators/sparse/boolean_mask_op.h"

namespace caffe2 {
namespace {

// In the words of the host.
void ThrowRowList(const cuda::KernelReport& report) {
  const auto value = static_cast<int64_t>(report.value);
  switch (report.label) {
    case kSegmentTooLong:
      CAFFE_ENFORCE_LE(value, report.classes, "length of segment ", report.row,
                       " and target_length");
      break;
    case kSequenceLength:
      CAFFE_THROW("length ", value, " of sequence ", report.row, " for data of ", report.classes,
                  " steps");
    default:
      CAFFE_THROW("row ", report.row, " occurs twice in the permutation");
  }
}
const bool kRegistered = [] {
  cuda::RegisterReport(cuda::kRowListReport, ThrowRowList);
  return true;
}();

}  // namespace

REGISTER_CUDA_OPERATOR(BatchPermutation, BatchPermutationOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(BatchPermutationGradient, BatchPermutationGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(PackSegments, PackSegmentsOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(UnpackSegments, UnpackSegmentsOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(LengthsTile, LengthsTileOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(LengthsGather, LengthsGatherOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(LengthsPad, LengthsPadOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(BooleanMask, BooleanMaskOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(BooleanMaskGradient, BooleanMaskGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(BooleanUnmask, BooleanUnmaskOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(PackRNNSequence, PackRNNSequenceOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(UnpackRNNSequence, UnpackRNNSequenceOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(ReversePackedSegs, ReversePackedSegsOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(AddPadding, AddPaddingOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(RemovePadding, RemovePaddingOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(GatherPadding, GatherPaddingOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(AliasWithName, AliasOp<CUDAContext>);

}  // namespace caffe2
