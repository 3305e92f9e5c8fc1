// What oneDNN can do on this processor, and which instructions the processor has. The environment
// variable ONEDNN_MAX_CPU_ISA limits both.
#pragma once

namespace caffe2::onednn {

// True if oneDNN multiplies bfloat16 on this processor, which needs AVX-512. If not, the first call
// logs a warning.
bool MultipliesBFloat16();
// True for processors with AVX-512.
bool HasAvx512();
// True for processors with AMX, on which products in bfloat16 are far faster than all else.
bool HasAmx();
// True for processors that multiply pairs of bfloat16 by VDPBF16PS (AVX512_BF16).
bool HasPairInstruction();
// True for processors with AVX-512 and VNNI, which multiply and add bytes by VPDPBUSD, but without
// AMX.
bool HasVnniWithoutAmx();

// True if this processor adds products of uint8_t and int8_t exactly (VNNI). Others saturate sums
// of two products to 16 bits, which suffices only for int8_t in [-64, 64].
bool AddsBytesExactly();

}  // namespace caffe2::onednn
