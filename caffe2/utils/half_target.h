// The processor's own conversion of float16, where the compiler has it: three times as fast as
// vectors of integer operations.
#pragma once

#include "caffe2/utils/intrinsics.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>

// For functions that use AVX2, FMA and F16C. Call them only if ProcessorConvertsHalves().
#define CAFFE2_HALF_TARGET __attribute__((target("avx2,fma,f16c")))

namespace caffe2 {

// True if the processor has what CAFFE2_HALF_TARGET names. Asks it for F16C itself: clang's builtin
// does not know the name.
inline bool ProcessorConvertsHalves() {
  static const bool converts = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0;
  }();
  return converts;
}

}  // namespace caffe2
#endif
