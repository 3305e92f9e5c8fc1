// What an operator computes, written once for the host and for CUDA devices: a functor of plain
// data (pointers into the device's memory, sizes, arguments) that handles one element or one row.
//
//   struct Square {                                   struct RowSum {
//     static constexpr const char* kName = "Square";    static constexpr const char* kName = ...
//     CAFFE2_HOST_DEVICE                                   template <class Team> CAFFE2_HOST_DEVICE
//     void operator()(int64_t i) const;                 void operator()(int64_t row, Team team)
//     const;
//   };                                                };
//
// Operators run it by ForEach and ForEachRow (host_device_op.h); a .cu file compiles it for devices
// (host_device_kernel.h). Headers of functors include this one and <cmath>, nothing heavy.
//
// A plain function of numbers takes and returns numbers. MapElements (host_device_op.h) applies it
// to arrays; unary_op.h and binary_op.h of operators/elementwise make operators of it.
//
//   struct SquareFunction {
//     static constexpr const char* kName = "Square";
//     template <typename N>
//     CAFFE2_HOST_DEVICE_INLINE N operator()(N x) const { return x * x; }
//   };
//
// It vectorises on the host if it has no branches: it computes both values of a choice before it
// takes one, as compilers see a possible trap in every operation under a condition.
//
// A team shares a row: a thread on the host, a block of threads on a device. Each member handles
// the elements team.first(), team.first() + team.step(), ... and all call team.Sum and team.Reduce,
// which give everyone the result. Sums are formed in Team::Number, always in the same order; on a
// device that is float, on the host double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#ifdef __device__  // defined for devices, emulated ones too
#include "caffe2/cuda/kernel.h"
#define CAFFE2_HOST_DEVICE __device__
#define CAFFE2_HOST_DEVICE_INLINE __device__ __forceinline__
#else
#include "caffe2/utils/narrow_float.h"
#define CAFFE2_HOST_DEVICE
#define CAFFE2_HOST_DEVICE_INLINE CAFFE2_INLINE
#endif

namespace caffe2 {
class OperatorBase;  // functors with arguments are made from the operator
}

namespace caffe2::host_device {

// The 16-bit types are stored only; arithmetic is done in float.
#ifdef __device__
using cuda::Narrow;
using cuda::Widen;
#else
template <typename T>
inline constexpr bool kIs16Bit = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;
template <typename T>
CAFFE2_INLINE auto Widen(T value) {
  if constexpr (std::is_same_v<T, float16>) {
    return ToFloat(value);
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    return caffe2::Widen(value);
  } else {
    return value;
  }
}
template <typename T, typename A>
CAFFE2_INLINE T Narrow(A value) {
  if constexpr (std::is_same_v<T, float16>) {
    return ToFloat16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    bfloat16 result;
    Store(static_cast<float>(value), &result);
    return result;
  } else {
    return static_cast<T>(value);
  }
}
#endif

// Whether F, which has a member kTakesBits, may be given 16-bit numbers as the int16 of their bits.
template <class F>
inline constexpr bool kOfBits = requires {
  F::kTakesBits;
};

// The derivative of a function F as a function of its own: what F::Gradient takes, to dx.
template <class F>
struct GradientOf {
  static constexpr const char* kName = F::kName;
  F f;
  template <typename... N>
  CAFFE2_HOST_DEVICE_INLINE auto operator()(N... values) const {
    return f.Gradient(values...);
  }
};
template <class F>
inline constexpr bool kOfBits<GradientOf<F>> = kOfBits<F>;

// The team of one thread: on the host, and on devices for short rows.
struct SoloTeam {
#ifdef __CUDACC__
  using Number = float;
#else
  using Number = double;
#endif
  CAFFE2_HOST_DEVICE static constexpr int64_t first() { return 0; }
  CAFFE2_HOST_DEVICE static constexpr int64_t step() { return 1; }
  CAFFE2_HOST_DEVICE static constexpr bool leader() { return true; }  // of one member
  template <typename N>
  CAFFE2_HOST_DEVICE N Sum(N value) const {
    return value;
  }
  // What op(a, b) makes of the values of all members.
  template <typename N, class Op>
  CAFFE2_HOST_DEVICE N Reduce(N value, Op /*op*/) const {
    return value;
  }
  // All members see what each wrote before.
  CAFFE2_HOST_DEVICE void Sync() const {}
};

struct Max {
  template <typename N>
  CAFFE2_HOST_DEVICE N operator()(N a, N b) const {
    return a < b ? b : a;
  }
};
struct Min {
  template <typename N>
  CAFFE2_HOST_DEVICE N operator()(N a, N b) const {
    return b < a ? b : a;
  }
};

}  // namespace caffe2::host_device
