// Functions of single numbers with their gradients, for the host and for devices (portable.h).
//
// Value(x) is y; Gradient(s, dy) is dx, where s is y if the function can be undone through it, else
// x (activation_op.h). Members are arguments, which ReadFunction (activation_function_op.h) reads.
#pragma once

#include "operators/common/portable.h"

namespace caffe2 {

// Declares the two members, so that each is one line.
#define CAFFE2_FUNCTION_VALUE CAFFE2_PORTABLE float Value(float x) const
#define CAFFE2_FUNCTION_GRADIENT CAFFE2_PORTABLE float Gradient(float s, float dy) const

struct TanFunction {
  static constexpr const char* kName = "Tan";
  CAFFE2_FUNCTION_VALUE { return std::tan(x); }
  CAFFE2_FUNCTION_GRADIENT { return dy / (std::cos(s) * std::cos(s)); }
};
struct AsinFunction {
  static constexpr const char* kName = "Asin";
  CAFFE2_FUNCTION_VALUE { return std::asin(x); }
  CAFFE2_FUNCTION_GRADIENT { return dy / std::sqrt(1 - s * s); }
};
struct AcosFunction {
  static constexpr const char* kName = "Acos";
  CAFFE2_FUNCTION_VALUE { return std::acos(x); }
  CAFFE2_FUNCTION_GRADIENT { return -dy / std::sqrt(1 - s * s); }
};
struct AtanFunction {
  static constexpr const char* kName = "Atan";
  CAFFE2_FUNCTION_VALUE { return std::atan(x); }
  CAFFE2_FUNCTION_GRADIENT { return dy / (1 + s * s); }
};
struct SinhFunction {
  static constexpr const char* kName = "Sinh";
  CAFFE2_FUNCTION_VALUE { return std::sinh(x); }
  CAFFE2_FUNCTION_GRADIENT { return dy * std::cosh(s); }
};
struct CoshFunction {
  static constexpr const char* kName = "Cosh";
  CAFFE2_FUNCTION_VALUE { return std::cosh(x); }
  CAFFE2_FUNCTION_GRADIENT { return dy * std::sinh(s); }
};
struct Log1pFunction {
  static constexpr const char* kName = "Log1p";
  CAFFE2_FUNCTION_VALUE { return std::log1p(x); }
  CAFFE2_FUNCTION_GRADIENT { return dy / (1 + s); }
};

struct ReciprocalFunction {  // of Y
  static constexpr const char* kName = "Reciprocal";
  CAFFE2_FUNCTION_VALUE { return 1 / x; }
  CAFFE2_FUNCTION_GRADIENT { return -dy * s * s; }
};
struct RsqrtFunction {  // of Y
  static constexpr const char* kName = "Rsqrt";
  CAFFE2_FUNCTION_VALUE { return 1 / std::sqrt(x); }
  CAFFE2_FUNCTION_GRADIENT { return -0.5f * dy * s * s * s; }
};
struct CbrtFunction {  // of Y
  static constexpr const char* kName = "Cbrt";
  CAFFE2_FUNCTION_VALUE { return std::cbrt(x); }
  CAFFE2_FUNCTION_GRADIENT { return dy / (3 * s * s); }
};
struct CubeFunction {
  static constexpr const char* kName = "Cube";
  CAFFE2_FUNCTION_VALUE { return x * x * x; }
  CAFFE2_FUNCTION_GRADIENT { return 3 * dy * s * s; }
};

// Bounds come second: a NaN stays.
struct HardSigmoidFunction {  // of Y
  static constexpr const char* kName = "HardSigmoid";
  float alpha, beta;
  CAFFE2_FUNCTION_VALUE {
    const float line = alpha * x + beta;
    return line > 1 ? 1.f : line < 0 ? 0.f : line;
  }
  CAFFE2_FUNCTION_GRADIENT { return s > 0 && s < 1 ? dy * alpha : 0.f; }
};
struct ReluNFunction {  // of Y
  static constexpr const char* kName = "ReluN";
  float limit;
  CAFFE2_FUNCTION_VALUE { return x > limit ? limit : x < 0 ? 0.f : x; }
  CAFFE2_FUNCTION_GRADIENT { return s > 0 && s < limit ? dy : 0.f; }
};
struct ThresholdedReluFunction {  // of Y
  static constexpr const char* kName = "ThresholdedRelu";
  float alpha;
  CAFFE2_FUNCTION_VALUE { return x <= alpha ? 0.f : x; }
  CAFFE2_FUNCTION_GRADIENT { return s > alpha ? dy : 0.f; }
};
struct SeluFunction {  // of Y
  static constexpr const char* kName = "Selu";
  float alpha, scale;
  CAFFE2_FUNCTION_VALUE { return scale * (x > 0 ? x : alpha * std::expm1(x)); }
  CAFFE2_FUNCTION_GRADIENT { return dy * (s > 0 ? scale : s + scale * alpha); }
};
struct SoftsignFunction {
  static constexpr const char* kName = "Softsign";
  CAFFE2_FUNCTION_VALUE { return x / (1 + std::fabs(x)); }
  CAFFE2_FUNCTION_GRADIENT {
    const float divisor = 1 + std::fabs(s);
    return dy / (divisor * divisor);
  }
};
struct LogitFunction {
  static constexpr const char* kName = "Logit";
  float eps;
  CAFFE2_FUNCTION_VALUE {
    const float p = x < eps ? eps : x > 1 - eps ? 1 - eps : x;
    return std::log(p / (1 - p));
  }
  CAFFE2_FUNCTION_GRADIENT { return s >= eps && s <= 1 - eps ? dy / (s * (1 - s)) : 0.f; }
};

struct ErfFunction {
  static constexpr const char* kName = "Erf";
  static constexpr float kTwoOverRootPi = 1.1283791671f;
  CAFFE2_FUNCTION_VALUE { return std::erf(x); }
  CAFFE2_FUNCTION_GRADIENT { return dy * kTwoOverRootPi * std::exp(-s * s); }
};
// x P(N(0, 1) <= x). The fast form takes P ~ (1 + tanh(u)) / 2 with u = a (x + b x^3).
struct GeluFunction {
  static constexpr const char* kName = "Gelu";
  static constexpr float kRootHalf = 0.7071067812f;
  static constexpr float kA = 0.7978845608f;  // sqrt(2 / pi)
  static constexpr float kB = 0.044715f;
  bool fast;
  CAFFE2_FUNCTION_VALUE {
    return 0.5f * x * (1 + (fast ? std::tanh(Inner(x)) : std::erf(x * kRootHalf)));
  }
  CAFFE2_FUNCTION_GRADIENT {
    if (!fast) {
      const float density = 0.5f * kA * std::exp(-0.5f * s * s);
      return dy * (0.5f * (1 + std::erf(s * kRootHalf)) + s * density);
    }
    const float gate = std::tanh(Inner(s));
    return dy * 0.5f * (1 + gate + s * (1 - gate * gate) * kA * (1 + 3 * kB * s * s));
  }
  CAFFE2_PORTABLE static float Inner(float x) { return kA * (x + kB * x * x * x); }
};

#undef CAFFE2_FUNCTION_VALUE
#undef CAFFE2_FUNCTION_GRADIENT

// All of them, for lists of kernels: X(TanFunction) X(AsinFunction) ...
#define CAFFE2_FOR_ALL_FUNCTIONS(X) \
  X(TanFunction)                    \
  X(AsinFunction)                   \
  X(AcosFunction)                   \
  X(AtanFunction)                   \
  X(SinhFunction)                   \
  X(CoshFunction)                   \
  X(Log1pFunction)                  \
  X(ReciprocalFunction)             \
  X(RsqrtFunction)                  \
  X(CbrtFunction)                   \
  X(CubeFunction)                   \
  X(HardSigmoidFunction)            \
  X(ReluNFunction)                  \
  X(ThresholdedReluFunction)        \
  X(SeluFunction)                   \
  X(SoftsignFunction)               \
  X(LogitFunction)                  \
  X(ErfFunction)                    \
  X(GeluFunction)

}  // namespace caffe2
