// Several machine-code versions of a hot loop, one of which is chosen when the program is loaded.
//
// The build targets the baseline of the architecture, so that one package runs everywhere. A leaf
// function marked CAFFE2_SIMD_CLONES is also compiled for AVX-512 and AVX2. Mark functions that
// contain the loop itself: functions that they call are cloned only if they are inlined, and the
// body of an OpenMP region is not cloned. Mark the functions that the loop calls CAFFE2_INLINE.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Chosen by the processor's features; names of processors ("arch=haswell") would match only these.
#if __GNUC__ >= 12
#define CAFFE2_SIMD_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
// Defined if clones round a product and its sum once where the processor can (FMA).
#define CAFFE2_CLONES_FUSE
#else
#define CAFFE2_SIMD_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#endif
#else
#define CAFFE2_SIMD_CLONES
#endif

// The compiler makes clones before it inlines on its own, so this forces it to inline.
#define CAFFE2_INLINE inline __attribute__((always_inline))
// Inlines all that a function calls, so that the body which a template is given is cloned too.
#define CAFFE2_FLATTEN __attribute__((flatten))
