// The transforms of bfloat16 tiles for processors with AVX512_BF16 (onednn_processor.h:
// HasPairInstruction), which round vectors to bfloat16 in one instruction. It flushes denormal
// numbers to zero, as the products do. Internal to winograd_transforms.cc, whose functions of
// similar names (winograd_transforms.h) do the same.
#pragma once

#include <cstdint>

#include "caffe2/core/half.h"
#include "caffe2/utils/bfloat16_pairs.h"
#include "caffe2/utils/winograd_transforms.h"

#if defined(CAFFE2_PAIR_INSTRUCTION)
namespace caffe2 {

void InputStripsByInstruction(const bfloat16* const* pixels, int64_t channels, int64_t strip,
                              int64_t plane, bfloat16* to);
void InputPairByInstruction(int64_t row, const bfloat16* const* even, const bfloat16* const* odd,
                            int64_t channels, int64_t plane, BFloat16Pair* to);
void OutputGradientPairByInstruction(int64_t row, const bfloat16* const* even,
                                     const bfloat16* const* odd, int64_t channels, int64_t plane,
                                     BFloat16Pair* to);
void OutputByInstruction(const float* from, int64_t plane, int64_t channels,
                         const WinogradEpilogue& epilogue, bfloat16* const* pixels);
void FilterByInstruction(const float* filter, int64_t step, int64_t channels, int64_t plane,
                         bfloat16* to);

}  // namespace caffe2
#endif
