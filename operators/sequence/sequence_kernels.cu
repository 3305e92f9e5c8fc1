// Kernels of sequences: padding and masks.
#include "operators/common/host_device_kernel.h"
#include "operators/sequence/padding_functions.h"
#include "operators/sequence/sequence_mask_functions.h"

namespace caffe2 {

INSTANTIATE_FOR_EACH_ROW(PadRows<uint8_t>);
INSTANTIATE_FOR_EACH_ROW(PadRows<uint16_t>);
INSTANTIATE_FOR_EACH_ROW(PadRows<uint32_t>);
INSTANTIATE_FOR_EACH_ROW(PadRows<uint64_t>);
INSTANTIATE_FOR_EACH_ROW(SumListedRows<float>);
INSTANTIATE_FOR_EACH_ROW(SumListedRows<double>);
INSTANTIATE_FOR_EACH_ROW(SumListedRows<int32_t>);
INSTANTIATE_FOR_EACH_ROW(SumListedRows<int64_t>);
INSTANTIATE_FOR_EACH_REAL(MaskElements);

}  // namespace caffe2
