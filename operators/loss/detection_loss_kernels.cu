// Kernels of the losses of detectors.
#include "operators/common/host_device_kernel.h"
#include "operators/loss/detection_loss_functions.h"

namespace caffe2 {

#define INSTANTIATE(terms)                       \
  INSTANTIATE_FOR_EACH_ROW(SumLossParts<terms>); \
  INSTANTIATE_FOR_EACH(SpreadLoss<terms>)

INSTANTIATE(SmoothL1Terms);
INSTANTIATE(SigmoidCrossEntropyTerms);
INSTANTIATE(SigmoidFocalTerms);
INSTANTIATE(SoftmaxFocalTerms);
INSTANTIATE_FOR_EACH_ROW(SumLossParts<SelectedSmoothL1Terms>);
INSTANTIATE_FOR_EACH_ROW(SumLossParts<CountTargets>);
INSTANTIATE_FOR_EACH_ROW(SumLoss);
INSTANTIATE_FOR_EACH(SelectedSmoothL1Gradient);
INSTANTIATE_FOR_EACH(PlaceLocations);
INSTANTIATE_FOR_EACH(IndicesOfLabels);

}  // namespace caffe2
