#include "caffe2/utils/stream_bytes.h"

#include <algorithm>
#include <cstring>

#include "caffe2/utils/intrinsics.h"

namespace caffe2 {

#ifdef __SSE2__

void StreamBytes(int64_t n, const void* from, void* to) {
  constexpr int64_t kLine = 64;
  const char* source = static_cast<const char*>(from);
  char* target = static_cast<char*>(to);
  const int64_t past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % kLine);
  const int64_t head = std::min(n, (kLine - past) % kLine);
  std::memcpy(target, source, head);
  int64_t i = head;
  // Whole lines only: parts of a line reach the memory one by one.
  for (; i + kLine <= n; i += kLine) {
    for (int64_t k = 0; k < kLine; k += sizeof(__m128i)) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(target + i + k),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + i + k)));
    }
  }
  std::memcpy(target + i, source + i, n - i);
}
void FinishStreams() { _mm_sfence(); }

#else

void StreamBytes(int64_t n, const void* from, void* to) { std::memcpy(to, from, n); }
void FinishStreams() {}

#endif

}  // namespace caffe2
