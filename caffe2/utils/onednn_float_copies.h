// Products of bfloat16 on processors for which oneDNN has none: they are formed of float copies.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "caffe2/core/type_meta.h"

namespace caffe2::onednn {

// Whether oneDNN multiplies bfloat16 on this processor; it wants AVX-512. The first call says so in
// the log if not.
bool MultipliesBFloat16();

// The operands of one product as float, in memory of the calling thread that the next object takes
// over: one lives at a time. Types are float, whose data are taken as they are, and bfloat16.
class FloatCopies {
 public:
  // The values of n elements; null for null.
  const float* Input(const void* data, TypeMeta type, int64_t n);
  // Where to write the n values of `data`, with what it holds if that `is_read`, too; null for
  // null.
  float* Output(void* data, TypeMeta type, int64_t n, bool is_read = false);
  // Rounds what was written to where it belongs.
  void Finish();

 private:
  struct Written {
    const float* from;
    void* to;
    int64_t n;
  };
  float* Next(int64_t n);

  static constexpr size_t kMost = 4;  // operands
  size_t next_ = 0;
  std::vector<Written> written_;
};

}  // namespace caffe2::onednn
