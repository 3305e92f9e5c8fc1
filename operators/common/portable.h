// What an operator computes, written once for the host and for CUDA devices: a functor of plain
// data (pointers into the device's memory, sizes, arguments) that handles one element or one row.
//
//   struct Square {                                   struct RowSum {
//     static constexpr const char* kName = "Square";    static constexpr const char* kName = ...
//     CAFFE2_PORTABLE                                   template <class Team> CAFFE2_PORTABLE
//     void operator()(int64_t i) const;                 void operator()(int64_t row, Team team)
//     const;
//   };                                                };
//
// Operators run it by ForEach and ForEachRow (portable_op.h; MapElements for plain functions of
// numbers); a .cu file compiles it for devices
// (portable_kernel.h). Headers of functors include this one and <cmath>, nothing heavy.
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

#ifdef __CUDACC__
#include "caffe2/cuda/kernel.h"
#define CAFFE2_PORTABLE __device__
#else
#include "caffe2/core/half.h"
#define CAFFE2_PORTABLE
#endif

namespace caffe2::portable {

// The 16-bit types are stored only; arithmetic is done in float.
#ifdef __CUDACC__
using cuda::Narrow;
using cuda::Widen;
#else
template <typename T>
inline constexpr bool kIs16Bit = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;
template <typename T>
auto Widen(T value) {
  if constexpr (kIs16Bit<T>) {
    return ToFloat(value);
  } else {
    return value;
  }
}
template <typename T, typename A>
T Narrow(A value) {
  if constexpr (std::is_same_v<T, float16>) {
    return ToFloat16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    return ToBFloat16(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}
#endif

// The team of one thread: on the host, and on devices for short rows.
struct SoloTeam {
#ifdef __CUDACC__
  using Number = float;
#else
  using Number = double;
#endif
  CAFFE2_PORTABLE static constexpr int64_t first() { return 0; }
  CAFFE2_PORTABLE static constexpr int64_t step() { return 1; }
  CAFFE2_PORTABLE static constexpr bool leader() { return true; }  // of one member
  template <typename N>
  CAFFE2_PORTABLE N Sum(N value) const {
    return value;
  }
  // What op(a, b) makes of the values of all members.
  template <typename N, class Op>
  CAFFE2_PORTABLE N Reduce(N value, Op /*op*/) const {
    return value;
  }
  // All members see what each wrote before.
  CAFFE2_PORTABLE void Wait() const {}
};

struct Larger {
  template <typename N>
  CAFFE2_PORTABLE N operator()(N a, N b) const {
    return a < b ? b : a;
  }
};
struct Smaller {
  template <typename N>
  CAFFE2_PORTABLE N operator()(N a, N b) const {
    return b < a ? b : a;
  }
};

}  // namespace caffe2::portable
