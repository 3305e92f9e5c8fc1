// AddPadding, RemovePadding and GatherPadding on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/common/row_copier_cuda.h"
#include "operators/sequence/padding_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(AddPadding, AddPaddingOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(RemovePadding, RemovePaddingOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(GatherPadding, GatherPaddingOp<CUDAContext>);

}  // namespace caffe2
