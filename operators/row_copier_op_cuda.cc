// Operators that put rows together on CUDA devices, by lists that the host reads: BatchPermutation,
// PackSegments, UnpackSegments, LengthsTile and LengthsGather.
#include "operators/batch_permutation_op.h"
#include "operators/copy_elements.h"
#include "operators/lengths_rows_op.h"
#include "operators/pack_segments_op.h"
#include "operators/row_copier_cuda.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(BatchPermutation, BatchPermutationOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(BatchPermutationGradient, BatchPermutationGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(PackSegments, PackSegmentsOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(UnpackSegments, UnpackSegmentsOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(LengthsTile, LengthsTileOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(LengthsGather, LengthsGatherOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(AliasWithName, AliasOp<CUDAContext>);

}  // namespace caffe2
