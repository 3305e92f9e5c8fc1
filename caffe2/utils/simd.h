// Several machine-code versions of one hot loop, chosen once when the program is loaded.
//
// The build targets the baseline of the architecture, so that one package runs everywhere; a leaf
// function marked CAFFE2_SIMD_CLONES is compiled for AVX-512 and AVX2 as well. Mark plain (not
// template) functions that hold the loop itself: code that such a function calls is cloned only as
// far as it is inlined, and the body of an OpenMP region is not.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Chosen by what the processor can do; names of processors ("arch=haswell") would match only these.
#if __GNUC__ >= 12
#define CAFFE2_SIMD_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CAFFE2_SIMD_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#endif
#else
#define CAFFE2_SIMD_CLONES
#endif
