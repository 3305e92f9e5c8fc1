#include "operators/elementwise/trigonometric_op.h"

#include <algorithm>

#include "caffe2/utils/vector_math.h"
#include "operators/common/gradient_rule.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {
namespace {

// The function F of an angle below kMaxAngle, which vectorizes.
template <class F>
struct OfSmallAngle {};
template <>
struct OfSmallAngle<SinFunction> {
  CAFFE2_INLINE float operator()(float x) const { return Sin(x); }
};
template <>
struct OfSmallAngle<CosFunction> {
  CAFFE2_INLINE float operator()(float x) const { return Cos(x); }
};
template <>
struct OfSmallAngle<TanFunction> {
  CAFFE2_INLINE float operator()(float x) const { return Tan(x); }
};
template <>
struct OfSmallAngle<host_device::GradientOf<SinFunction>> {
  CAFFE2_INLINE float operator()(float x, float dy) const { return dy * Cos(x); }
};
template <>
struct OfSmallAngle<host_device::GradientOf<CosFunction>> {
  CAFFE2_INLINE float operator()(float x, float dy) const { return -dy * Sin(x); }
};
template <>
struct OfSmallAngle<host_device::GradientOf<TanFunction>> {
  CAFFE2_INLINE float operator()(float x, float dy) const {
    const float cosine = Cos(x);
    return dy / (cosine * cosine);
  }
};

CAFFE2_INLINE bool IsSmallAngle(float x) { return std::fabs(x) < kMaxAngle; }

// y = f(x, more...): angles that are not small, which are rare, are computed again by f itself.
template <class F, typename T, typename... More>
CAFFE2_SIMD_CLONES void MapAngles(F f, int64_t n, T* y, const T* x, const More*... more) {
  constexpr OfSmallAngle<F> kSmall;
  constexpr int64_t kBlock = 1024;
  float wide[kBlock];  // y may be x
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t size = std::min(kBlock, n - begin);
    int others = 0;
#pragma omp simd reduction(| : others)
    for (int64_t i = 0; i < size; ++i) {
      const float angle = host_device::Widen(x[begin + i]);
      wide[i] = kSmall(angle, host_device::Widen(more[begin + i])...);
      others |= static_cast<int>(!IsSmallAngle(angle));
    }
    for (int64_t i = 0; others != 0 && i < size; ++i) {
      const float angle = host_device::Widen(x[begin + i]);
      if (!IsSmallAngle(angle)) wide[i] = f(angle, host_device::Widen(more[begin + i])...);
    }
#pragma omp simd
    for (int64_t i = 0; i < size; ++i) y[begin + i] = host_device::Narrow<T>(wide[i]);
  }
}

}  // namespace

// MapElements (host_device_op.h) of functions of angles, in float or 16 bits.
template <class F, typename T, typename... More>
requires(!std::is_same_v<T, double> &&
         std::is_invocable_v<OfSmallAngle<F>, float,
                             decltype(host_device::Widen(
                                 More()))...>) void MapElements(const F& f, int64_t n,
                                                                CPUContext* /*context*/, T* y,
                                                                const T* x, const More*... more) {
  ParallelFor(n, kElementGrain, [&](int64_t begin, int64_t end) {
    MapAngles(f, end - begin, y + begin, x + begin, (more + begin)...);
  });
}

REGISTER_CPU_OPERATOR_WITH_GRADIENT(Sin, SinFunction, FloatTypes);
REGISTER_CPU_OPERATOR_WITH_GRADIENT(Cos, CosFunction, FloatTypes);
REGISTER_CPU_OPERATOR_WITH_GRADIENT(Tan, TanFunction);
REGISTER_CPU_OPERATOR_WITH_GRADIENT(Asin, AsinFunction);
REGISTER_CPU_OPERATOR_WITH_GRADIENT(Acos, AcosFunction);
REGISTER_CPU_OPERATOR_WITH_GRADIENT(Atan, AtanFunction);

OPERATOR_SCHEMA(Sin).FillUsing(UnarySchema).SetDoc("Y = sin(X), X in radians.");
OPERATOR_SCHEMA(SinGradient)
    .FillUsing(UnaryGradientSchemaOfInput)
    .SetDoc("Gradient of Sin: dX = dY * cos(X).");
OPERATOR_SCHEMA(Cos).FillUsing(UnarySchema).SetDoc("Y = cos(X), X in radians.");
OPERATOR_SCHEMA(CosGradient)
    .FillUsing(UnaryGradientSchemaOfInput)
    .SetDoc("Gradient of Cos: dX = -dY * sin(X).");
OPERATOR_SCHEMA(Tan).FillUsing(UnarySchema).SetDoc("Y = tan(X), X in radians.");
OPERATOR_SCHEMA(TanGradient)
    .FillUsing(UnaryGradientSchemaOfInput)
    .SetDoc("The gradient of Tan: dX = dY / cos(X)^2.");
OPERATOR_SCHEMA(Asin).FillUsing(UnarySchema).SetDoc("Y = asin(X) in radians; NaN where |X| > 1.");
OPERATOR_SCHEMA(AsinGradient)
    .FillUsing(UnaryGradientSchemaOfInput)
    .SetDoc("The gradient of Asin: dX = dY / sqrt(1 - X^2).");
OPERATOR_SCHEMA(Acos).FillUsing(UnarySchema).SetDoc("Y = acos(X) in radians; NaN where |X| > 1.");
OPERATOR_SCHEMA(AcosGradient)
    .FillUsing(UnaryGradientSchemaOfInput)
    .SetDoc("The gradient of Acos: dX = -dY / sqrt(1 - X^2).");
OPERATOR_SCHEMA(Atan).FillUsing(UnarySchema).SetDoc("Y = atan(X) in radians.");
OPERATOR_SCHEMA(AtanGradient)
    .FillUsing(UnaryGradientSchemaOfInput)
    .SetDoc("The gradient of Atan: dX = dY / (1 + X^2).");
REGISTER_GRADIENT(Sin, GradientRule<"I0 GO0 -> GI0">);
REGISTER_GRADIENT(Cos, GradientRule<"I0 GO0 -> GI0">);
REGISTER_GRADIENT(Tan, GradientRule<"I0 GO0 -> GI0">);
REGISTER_GRADIENT(Asin, GradientRule<"I0 GO0 -> GI0">);
REGISTER_GRADIENT(Acos, GradientRule<"I0 GO0 -> GI0">);
REGISTER_GRADIENT(Atan, GradientRule<"I0 GO0 -> GI0">);

}  // namespace caffe2
