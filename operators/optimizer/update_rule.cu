// Kernels of the update rules, and of other functors that update parameters or compute rates.
#include "operators/common/host_device_kernel.h"
#include "operators/optimizer/global_rate_functions.h"
#include "operators/optimizer/masked_adagrad_functions.h"
#include "operators/optimizer/optimizer_functions.h"
#include "operators/optimizer/parameter_row_functions.h"
#include "operators/optimizer/sparse_update.h"

namespace caffe2 {

INSTANTIATE_FOR_EACH(DenseUpdate<MomentumSgdRule>);
INSTANTIATE_FOR_EACH(DenseUpdate<MomentumSgdRule, float16>);
INSTANTIATE_FOR_EACH(DenseUpdate<WithWeightDecay<MomentumSgdRule>>);
INSTANTIATE_FOR_EACH(DenseUpdate<WithWeightDecay<MomentumSgdRule>, float16>);
INSTANTIATE_FOR_EACH(DenseUpdate<AdamRule>);
INSTANTIATE_FOR_EACH(DenseUpdate<WithWeightDecay<AdamRule>>);
INSTANTIATE_FOR_EACH(DenseUpdate<AdagradRule>);
INSTANTIATE_FOR_EACH(DenseUpdate<WithWeightDecay<AdagradRule>>);
INSTANTIATE_FOR_EACH(DenseUpdate<DecayAdagradRule>);
INSTANTIATE_FOR_EACH(DenseUpdate<RmsPropRule>);
INSTANTIATE_FOR_EACH(DenseUpdate<AdadeltaRule>);
INSTANTIATE_FOR_EACH(DenseUpdate<FtrlRule>);
INSTANTIATE_FOR_EACH(DenseUpdate<StormRule>);
INSTANTIATE_FOR_EACH(DenseUpdate<WngradRule>);

#define INSTANTIATE_UPDATE_ROWS(...) INSTANTIATE_FOR_EACH_ROW(UpdateSortedRows<__VA_ARGS__>)
INSTANTIATE_UPDATE_ROWS(SparseUpdate<MomentumSgdRule>);
INSTANTIATE_UPDATE_ROWS(SparseUpdate<AdamRule>);
INSTANTIATE_UPDATE_ROWS(SparseUpdate<RectifiedAdamRule>);
INSTANTIATE_UPDATE_ROWS(SmartDecayAdamUpdate);
INSTANTIATE_UPDATE_ROWS(SparseUpdate<AdagradRule>);
INSTANTIATE_UPDATE_ROWS(SparseUpdate<WithWeightDecay<AdagradRule>>);
INSTANTIATE_UPDATE_ROWS(SparseUpdate<WithWeightDecay<AdagradRule>, float16>);
INSTANTIATE_UPDATE_ROWS(SparseUpdate<AdadeltaRule>);
INSTANTIATE_UPDATE_ROWS(SparseUpdate<FtrlRule>);
INSTANTIATE_UPDATE_ROWS(SparseUpdate<StormRule>);
INSTANTIATE_UPDATE_ROWS(SparseUpdate<WngradRule>);
INSTANTIATE_UPDATE_ROWS(RowWiseUpdate<AdagradRule>);
INSTANTIATE_UPDATE_ROWS(RowWiseUpdate<WithWeightDecay<AdagradRule>>);
INSTANTIATE_UPDATE_ROWS(RowWiseUpdate<AdamRule>);
INSTANTIATE_UPDATE_ROWS(CountedAdagradUpdate<float>);
INSTANTIATE_UPDATE_ROWS(CountedAdagradUpdate<float16>);

INSTANTIATE_UPDATE_ROWS(MaskedRow<SparseUpdate<AdagradRule>>);
INSTANTIATE_UPDATE_ROWS(MaskedRow<RowWiseUpdate<AdagradRule>>);
INSTANTIATE_FOR_EACH_ROW(ClearMaskedRow);
INSTANTIATE_FOR_EACH(MaskedAdagradElements);

INSTANTIATE_UPDATE_ROWS(NormalizeRow<float>);
INSTANTIATE_UPDATE_ROWS(NormalizeRow<float16>);
INSTANTIATE_UPDATE_ROWS(ShrinkRow);
INSTANTIATE_UPDATE_ROWS(LimitRow);
INSTANTIATE_UPDATE_ROWS(CountRow);

INSTANTIATE_FOR_EACH(AdagradRates);
INSTANTIATE_FOR_EACH(LarsFactor);
INSTANTIATE_FOR_EACH(StormStep);
INSTANTIATE_FOR_EACH(WngradStep);
INSTANTIATE_FOR_EACH(GFtrlColumns);
template void LaunchMap(const MoveTowards&, int64_t, cuda::Stream, float*, const float*,
                        const float*);
INSTANTIATE_FOR_EACH_REAL(ClipByScaling);

}  // namespace caffe2
