// Kernels of LSTMUnit and GRUUnit.
#include "operators/portable_kernel.h"
#include "operators/recurrent_unit_functions.h"

namespace caffe2 {

INSTANTIATE_FOR_EACH(LstmUnit);
INSTANTIATE_FOR_EACH(LstmUnitGradient);
INSTANTIATE_FOR_EACH(GruUnit);
INSTANTIATE_FOR_EACH(GruUnitGradient);

}  // namespace caffe2
