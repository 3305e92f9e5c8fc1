// What the memory and the arithmetic of a machine do at best.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "benchmarks/operator_table.h"
#include "caffe2/core/context.h"
#include "caffe2/core/half.h"
#include "caffe2/utils/math.h"
#include "caffe2/utils/parallel.h"
#include "caffe2/utils/seconds_since.h"

namespace caffe2::benchmark {

// The least time of several calls, in seconds.
template <typename F>
double LeastSecondsOf(const F& call) {
  double least = 1e9;
  for (int i = 0; i < 7; ++i) {
    const Clock::time_point begin = Clock::now();
    call();
    least = std::min(least, SecondsSince(begin));
  }
  return least;
}

template <typename T>
double ProductsPerSecond() {
  constexpr int64_t kSize = 1536;
  const std::vector<T> a(kSize * kSize), b(kSize * kSize);
  std::vector<T> c(kSize * kSize);
  CPUContext context;
  const double seconds = LeastSecondsOf([&] {
    math::Gemm<T>(false, false, kSize, kSize, kSize, 1, a.data(), b.data(), 0, c.data(), &context);
  });
  return 2. * kSize * kSize * kSize / seconds;
}

// With all threads: a copy that fits no cache, where reading and writing count, and a large matrix
// product of the type (FLOAT or BFLOAT16). Operators whose tensors fit a cache can be faster than
// this memory. Takes about a second.
inline Ceilings MeasureHostCeilings(TensorProto::DataType type) {
  constexpr int64_t kBytes = int64_t{1} << 29, kPart = int64_t{1} << 20;
  const std::vector<char> from(kBytes, 1);
  std::vector<char> to(kBytes);
  const double seconds = LeastSecondsOf([&] {
    ParallelFor(kBytes / kPart, 1, [&](int64_t begin, int64_t end) {
      std::memcpy(to.data() + begin * kPart, from.data() + begin * kPart, (end - begin) * kPart);
    });
  });
  return {.bytes_per_second = 2. * kBytes / seconds,
          .flops_per_second = type == TensorProto::BFLOAT16 ? ProductsPerSecond<bfloat16>()
                                                            : ProductsPerSecond<float>()};
}

// The ceilings for nets of this type: `given` where it is above 0, else measured on the CPU, or of
// an H200.
inline Ceilings CeilingsOf(const Device& device, TensorProto::DataType type, Ceilings given) {
  Ceilings ceilings = {4300e9, type == TensorProto::FLOAT ? 67e12 : 790e12};
  if (device.type == CPU) ceilings = MeasureHostCeilings(type);
  if (given.bytes_per_second > 0) ceilings.bytes_per_second = given.bytes_per_second;
  if (given.flops_per_second > 0) ceilings.flops_per_second = given.flops_per_second;
  return ceilings;
}

}  // namespace caffe2::benchmark
