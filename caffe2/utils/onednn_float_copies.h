// Float copies of bfloat16 operands, for processors on which oneDNN does not multiply bfloat16.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "caffe2/core/type_meta.h"

namespace caffe2::onednn {

// Float copies of the operands of one product. They lie in memory of the calling thread that the
// next object reuses, so only one object may live at a time in a thread. `type` is bfloat16, or
// float, whose data are used without a copy.
class FloatCopies {
 public:
  // The n elements of `data` as float. Null for null.
  const float* Input(const void* data, TypeMeta type, int64_t n);
  // Memory to which n results for `data` are written. If `is_read`, it first holds the elements of
  // `data`. Null for null.
  float* Output(void* data, TypeMeta type, int64_t n, bool is_read = false);
  // Rounds the results and writes them to the `data` of each Output.
  void Finish();

 private:
  struct Written {
    const float* from;
    void* to;
    int64_t n;
  };
  float* Next(int64_t n);

  static constexpr size_t kMaxOperands = 4;
  size_t next_ = 0;
  std::vector<Written> written_;
};

}  // namespace caffe2::onednn
