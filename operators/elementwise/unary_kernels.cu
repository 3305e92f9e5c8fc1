// Kernels of functions of one number.
#include "operators/activation/gated_functions.h"
#include "operators/common/portable_kernel.h"
#include "operators/elementwise/abs_op.h"
#include "operators/elementwise/cube_op.h"
#include "operators/elementwise/erf_op.h"
#include "operators/elementwise/exp_op.h"
#include "operators/elementwise/hyperbolic_op.h"
#include "operators/elementwise/log_op.h"
#include "operators/elementwise/negative_op.h"
#include "operators/elementwise/reciprocal_op.h"
#include "operators/elementwise/root_op.h"
#include "operators/elementwise/rounding_op.h"
#include "operators/elementwise/sign_op.h"
#include "operators/elementwise/sqr_op.h"
#include "operators/elementwise/trigonometric_op.h"
#include "operators/elementwise/unary_functions.h"
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
INSTANTIATE_FLOAT(INSTANTIATE_MAP_2, portable::GradientOf<AbsFunction>);
INSTANTIATE_NUMERIC(AbsFunction);
INSTANTIATE_NUMERIC(NegativeFunction);
INSTANTIATE_NUMERIC(SignFunction);
INSTANTIATE_NUMERIC(SqrFunction);

#define INSTANTIATE(T)                         \
  INSTANTIATE_MAP(PowValue, T);                \
  INSTANTIATE_MAP(ReplaceNaNValue, T);         \
  INSTANTIATE_MAP(GatedValue<SwishGate>, T);   \
  INSTANTIATE_MAP(GatedValue<MishGate>, T);    \
  INSTANTIATE_MAP_3(GatedSlope<SwishGate>, T); \
  INSTANTIATE_MAP_3(GatedSlope<MishGate>, T)
INSTANTIATE(float);
INSTANTIATE(double);
INSTANTIATE(float16);
INSTANTIATE(bfloat16);

INSTANTIATE_FOR_EACH(PowerOfElements);
INSTANTIATE_FOR_EACH(RootOfElements);
INSTANTIATE_FOR_EACH(SlopeOfNorms);
INSTANTIATE_FOR_EACH(SlopeOfPowers);
INSTANTIATE_MAP(LpNormSlope, float);
INSTANTIATE_FOR_EACH_ROW_REAL(GluRows);

}  // namespace caffe2
