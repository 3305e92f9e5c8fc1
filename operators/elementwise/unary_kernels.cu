// Kernels of functions of one number.
#include "operators/common/host_device_kernel.h"
#include "operators/elementwise/abs_op.h"
#include "operators/elementwise/clip_op.h"
#include "operators/elementwise/comparison_op.h"
#include "operators/elementwise/cube_op.h"
#include "operators/elementwise/erf_op.h"
#include "operators/elementwise/exp_op.h"
#include "operators/elementwise/half_float_op.h"
#include "operators/elementwise/hyperbolic_op.h"
#include "operators/elementwise/log_op.h"
#include "operators/elementwise/mod_op.h"
#include "operators/elementwise/negative_op.h"
#include "operators/elementwise/pow_op.h"
#include "operators/elementwise/reciprocal_op.h"
#include "operators/elementwise/replace_nan_op.h"
#include "operators/elementwise/root_op.h"
#include "operators/elementwise/rounding_op.h"
#include "operators/elementwise/scale_op.h"
#include "operators/elementwise/sign_op.h"
#include "operators/elementwise/sqr_op.h"
#include "operators/elementwise/stump_func_op.h"
#include "operators/elementwise/trigonometric_op.h"
#include "operators/norm/lp_norm_functions.h"
#include "operators/pool/lp_pool_functions.h"

namespace caffe2 {

INSTANTIATE_UNARY_REAL(AcosFunction);
INSTANTIATE_UNARY_REAL(AsinFunction);
INSTANTIATE_UNARY_REAL(AtanFunction);
INSTANTIATE_UNARY_REAL(CbrtFunction);
INSTANTIATE_UNARY_REAL(CoshFunction);
INSTANTIATE_UNARY_REAL(CubeFunction);
INSTANTIATE_UNARY_REAL(ErfFunction);
INSTANTIATE_UNARY_REAL(Log1pFunction);
INSTANTIATE_UNARY_REAL(ReciprocalFunction);
INSTANTIATE_UNARY_REAL(RsqrtFunction);
INSTANTIATE_UNARY_REAL(SinhFunction);
INSTANTIATE_UNARY_REAL(TanFunction);

// Of types NumericTypes or FloatTypes on the host.
#define INSTANTIATE_FLOAT(instantiate, functor) \
  instantiate(functor, float);                  \
  instantiate(functor, double);                 \
  instantiate(functor, float16);                \
  instantiate(functor, bfloat16)
#define INSTANTIATE_NUMERIC(functor)           \
  INSTANTIATE_FLOAT(INSTANTIATE_MAP, functor); \
  INSTANTIATE_MAP(functor, int32_t);           \
  INSTANTIATE_MAP(functor, int64_t)

INSTANTIATE_FLOAT(INSTANTIATE_MAP, CeilFunction);
INSTANTIATE_FLOAT(INSTANTIATE_MAP, ExpFunction);
INSTANTIATE_FLOAT(INSTANTIATE_MAP, FloorFunction);
INSTANTIATE_FLOAT(INSTANTIATE_MAP, LogFunction);
INSTANTIATE_FLOAT(INSTANTIATE_MAP, SqrtFunction);
INSTANTIATE_FLOAT(INSTANTIATE_UNARY, CosFunction);
INSTANTIATE_FLOAT(INSTANTIATE_UNARY, SinFunction);
INSTANTIATE_FLOAT(INSTANTIATE_MAP_2, host_device::GradientOf<AbsFunction>);
INSTANTIATE_NUMERIC(AbsFunction);
INSTANTIATE_NUMERIC(NegativeFunction);
INSTANTIATE_NUMERIC(SignFunction);
INSTANTIATE_NUMERIC(SqrFunction);

INSTANTIATE_FLOAT(INSTANTIATE_MAP, PowFunction);
INSTANTIATE_FLOAT(INSTANTIATE_MAP, ReplaceNaNFunction);
INSTANTIATE_FLOAT(INSTANTIATE_MAP, ScaleFunction);
INSTANTIATE_FLOAT(INSTANTIATE_UNARY, ClipFunction);
INSTANTIATE_MAP(ModFunction, int32_t);
INSTANTIATE_MAP(ModFunction, int64_t);
INSTANTIATE_MAP(NotFunction, bool);
INSTANTIATE_MAP(StumpFunction, float);
template void LaunchMap(const IdentityFunction&, int64_t, cuda::Stream, float16*, const float*);
template void LaunchMap(const IdentityFunction&, int64_t, cuda::Stream, float*, const float16*);

INSTANTIATE_FOR_EACH(PowerOfElements);
INSTANTIATE_FOR_EACH(RootOfElements);
INSTANTIATE_FOR_EACH(GradientOfNorms);
INSTANTIATE_FOR_EACH(GradientOfPowers);
INSTANTIATE_MAP(LpNormDerivative, float);

}  // namespace caffe2
