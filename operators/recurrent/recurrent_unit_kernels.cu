// Kernels of LSTMUnit and GRUUnit.
#include "operators/common/host_device_kernel.h"
#include "operators/recurrent/recurrent_unit_functions.h"

namespace caffe2 {

INSTANTIATE_FOR_EACH_REAL(LstmUnit);
INSTANTIATE_FOR_EACH_REAL(LstmUnitGradient);
INSTANTIATE_FOR_EACH_REAL(GruUnit);
INSTANTIATE_FOR_EACH_REAL(GruUnitGradient);

}  // namespace caffe2
