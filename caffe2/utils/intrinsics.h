// The compiler's functions for vector instructions, on processors that have them.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__)
// GCC 12 warns of vectors that its own functions leave without a value.
#pragma GCC diagnostic push
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif
