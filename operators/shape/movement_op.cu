// Kernels of operators that move elements, sum where several came from one, or mark places.
#include "operators/common/portable_kernel.h"
#include "operators/conv/im2col_functions.h"
#include "operators/sequence/padding_functions.h"
#include "operators/shape/tile_functions.h"
#include "operators/sparse/batch_sparse_to_dense_functions.h"
#include "operators/sparse/one_hot_functions.h"

namespace caffe2 {

INSTANTIATE_FOR_EACH_REAL(SumTiles);
INSTANTIATE_FOR_EACH_ROW(PadRows<uint8_t>);
INSTANTIATE_FOR_EACH_ROW(PadRows<uint16_t>);
INSTANTIATE_FOR_EACH_ROW(PadRows<uint32_t>);
INSTANTIATE_FOR_EACH_ROW(PadRows<uint64_t>);
INSTANTIATE_FOR_EACH_ROW(SumListedRows<float>);
INSTANTIATE_FOR_EACH_ROW(SumListedRows<double>);
INSTANTIATE_FOR_EACH_ROW(SumListedRows<int32_t>);
INSTANTIATE_FOR_EACH_ROW(SumListedRows<int64_t>);
INSTANTIATE_FOR_EACH(ColumnElements);
INSTANTIATE_FOR_EACH(ColumnSums);
INSTANTIATE_FOR_EACH(OneHotElements);
INSTANTIATE_FOR_EACH(SegmentOneHotRows);
INSTANTIATE_FOR_EACH(BatchOneHotElements<int32_t>);
INSTANTIATE_FOR_EACH(BatchOneHotElements<int64_t>);
INSTANTIATE_FOR_EACH(BucketOneHotElements);
INSTANTIATE_FOR_EACH(BucketElements);
INSTANTIATE_FOR_EACH(BatchBucketElements);
INSTANTIATE_FOR_EACH_ROW(SparseToDenseRows);
INSTANTIATE_FOR_EACH_ROW(DenseToSparseRows);

}  // namespace caffe2
