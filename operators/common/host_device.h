// Functors that are written once for the host and for CUDA devices. A functor holds plain data
// (pointers to the device's memory, sizes, arguments) and handles one element or one row.
//
//   struct Square {                              struct RowSum {
//     static constexpr const char* kName = ...;    static constexpr const char* kName = ...;
//     CAFFE2_HOST_DEVICE                           template <class Team> CAFFE2_HOST_DEVICE
//     void operator()(int64_t i) const;            void operator()(int64_t row, Team team) const;
//   };                                           };
//
// Operators run it with ForEach and ForEachRow (host_device_op.h); a .cu file compiles it for
// devices (host_device_kernel.h). Headers of functors include only this header and <cmath>, because
// nvcc compiles them.
//
// A functor may also be a function of numbers. MapElements (host_device_op.h) applies it to arrays;
// unary_op.h and binary_op.h of operators/elementwise make operators of it.
//
//   struct SquareFunction {
//     static constexpr const char* kName = "Square";
//     template <typename N>
//     CAFFE2_HOST_DEVICE_INLINE N operator()(N x) const { return x * x; }
//   };
//
// On the host it vectorizes if it has no branches. Compute both values of a choice before you
// choose: a call under a condition stays a branch.
//
// A team works on one row: a thread on the host, a block of threads (or one thread) on a device.
// Each member handles the elements team.first(), team.first() + team.step(), ... All members must
// call team.Sum and team.Reduce, and all get the result. Sums are of type Team::Number, float on
// devices and double on the host, and always have the same order. SumOver and ForEachOf are loops
// over the elements of a row that vectorize on the host.
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
class OperatorBase;  // functors read their arguments from the operator
}

namespace caffe2::host_device {

// Widen converts 16-bit types to float and leaves other types unchanged; Narrow converts back. All
// arithmetic on 16-bit types is done in float.
#ifdef __device__
using cuda::Narrow;
using cuda::Widen;
#else
using caffe2::Narrow;
using caffe2::Widen;
#endif

// The bits of a 16-bit number, as a signed integer; comparing them is faster than converting the
// number to float. Bits from 0 to kInfinity are the numbers from 0 up to infinity, bits up to
// kNegativeInfinity are the numbers from -0 down to -infinity, and all other bits are NaN.
template <typename T>
struct SignedBits {
  int16_t value;
  static constexpr int16_t kInfinity = std::is_same_v<T, bfloat16> ? 0x7f80 : 0x7c00;
  static constexpr int16_t kNegativeInfinity = kInfinity - 0x8000;
};

// True if F has a member kTakesBits: then it may get 16-bit numbers as SignedBits, and bools as
// bytes.
template <class F>
inline constexpr bool kOfBits = requires {
  F::kTakesBits;
};

// F::Gradient as a functor of its own, with the same arguments.
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

// A team of one thread: on the host, and on devices for short rows.
struct SoloTeam {
#ifdef __CUDACC__
  using Number = float;
#else
  using Number = double;
#endif
  CAFFE2_HOST_DEVICE static constexpr int64_t first() { return 0; }
  CAFFE2_HOST_DEVICE static constexpr int64_t step() { return 1; }
  CAFFE2_HOST_DEVICE static constexpr bool leader() { return true; }  // the only member
  template <typename N>
  CAFFE2_HOST_DEVICE N Sum(N value) const {
    return value;
  }
  // Combines the values of all members by op(a, b).
  template <typename N, class Op>
  CAFFE2_HOST_DEVICE N Reduce(N value, Op /*op*/) const {
    return value;
  }
  // Waits for all members. After it, each sees the values that the others wrote before it.
  CAFFE2_HOST_DEVICE void Sync() const {}
};

// Operations for Team::Reduce.
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

#ifndef __device__
// Shorter rows are added faster one by one than in lanes.
constexpr int64_t kMinSumLanes = 32;
// SumOver in lanes, whose order depends on n alone. n is at least kMinSumLanes.
template <class Term>
CAFFE2_FLATTEN CAFFE2_SIMD_CLONES double SumInLanes(int64_t n, Term term) {
  constexpr int kLanes = 16, kAll = 2 * kLanes;
  double lane[kAll] = {};
  int64_t j = 0;
  for (; j + kAll <= n; j += kAll) {
#pragma omp simd
    for (int l = 0; l < kAll; ++l) lane[l] += term(j + l);
  }
  for (; j < n; j += kLanes) {  // the last of these are kLanes elements, some of them done before
    const int64_t first = std::min(j, n - kLanes);
    const int done = static_cast<int>(j - first);
#pragma omp simd
    for (int l = 0; l < kLanes; ++l) {
      const double value = term(first + l);
      lane[l] += l < done ? 0 : value;
    }
  }
  for (int width = kLanes; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) lane[l] += lane[l + width];
  }
  return lane[0];
}
template <class Body>
CAFFE2_FLATTEN CAFFE2_SIMD_CLONES void RunInLanes(int64_t n, Body body) {
#pragma omp simd
  for (int64_t j = 0; j < n; ++j) body(j);
}
#endif

// True if SumOver does not vectorize a row of n elements. Then the functions of <cmath> are faster
// than the functions of host_device_math.h.
CAFFE2_HOST_DEVICE constexpr bool IsShortRow(int64_t n) {
#ifdef __device__
  return false;
#else
  return n < kMinSumLanes;
#endif
}

// The sum of term(j) for j in [0, n), computed by the whole team. Terms should capture by value,
// and be without branches and calls.
template <class Team, class Term>
CAFFE2_HOST_DEVICE typename Team::Number SumOver(Team team, int64_t n, const Term& term) {
#ifndef __device__
  if (!IsShortRow(n)) return SumInLanes(n, term);
#endif
  typename Team::Number sum = 0;
  for (int64_t j = team.first(); j < n; j += team.step()) sum += term(j);
  return team.Sum(sum);
}
// body(j) for j in [0, n), in any order and shared by the team. The same holds for the body.
template <class Team, class Body>
CAFFE2_HOST_DEVICE void ForEachOf(Team team, int64_t n, const Body& body) {
#ifndef __device__
  constexpr int64_t kMinLanes = 16;
  if (n >= kMinLanes) return RunInLanes(n, body);
#endif
  for (int64_t j = team.first(); j < n; j += team.step()) body(j);
}

}  // namespace caffe2::host_device
