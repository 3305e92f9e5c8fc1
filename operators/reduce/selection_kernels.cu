// Kernels of ArgMax, ArgMin and TopK.
#include <limits>

#include "operators/common/host_device_kernel.h"
#include "operators/common/sort_keys.h"
#include "operators/reduce/selection_kernels.h"

namespace caffe2 {
namespace {

constexpr int64_t kMaxPasses = 16;  // over a line; for larger k the line is sorted

// Numbers as unsigned integers in the same order, NaN above all.
template <typename T>
__device__ inline uint64_t OrderOf(T stored) {
  const auto value = cuda::Widen(stored);
  using A = std::remove_const_t<decltype(value)>;
  constexpr uint64_t kSign = uint64_t{1} << 63;
  if constexpr (std::is_integral_v<A>) {
    return static_cast<uint64_t>(static_cast<int64_t>(value)) ^ kSign;
  } else {
    if (value != value) return ~uint64_t{0};
    const double wide = value == 0 ? 0.0 : static_cast<double>(value);  // one zero
    uint64_t bits;
    memcpy(&bits, &wide, sizeof(bits));
    return (bits & kSign) != 0 ? ~bits : bits | kSign;
  }
}

// Calls write(r, position of the element of rank r in x[0], x[stride], ...) for r < k, with -1
// after the n elements. Each pass finds the next element.
template <typename T, class Team, class Write>
__device__ inline void PassOver(int64_t n, int64_t k, const T* x, int64_t stride, Team team,
                                const Write& write) {
  uint64_t last = 0;
  int64_t last_at = -1;  // nothing was taken yet
  for (int64_t r = 0; r < k; ++r) {
    uint64_t best = 0;
    int64_t at = n;
    for (int64_t j = r < n ? team.first() : n; j < n; j += team.step()) {
      const uint64_t order = OrderOf(x[j * stride]);
      const bool follows = last_at < 0 || order < last || (order == last && j > last_at);
      if (follows && (at == n || order > best)) {
        best = order;
        at = j;
      }
    }
    last = team.Reduce(best, host_device::Max());
    last_at = team.Reduce(best == last ? at : n, host_device::Min());
    if (team.leader()) write(r, last_at < n ? last_at : -1);
  }
}

// The first k of each line in that order.
template <typename T>
struct SelectLargest {
  static constexpr const char* kName = "TopK";
  LineLayout layout;
  int64_t k;
  const T* x;
  T* values;
  int64_t *indices, *flat;

  template <class Team>
  __device__ void operator()(int64_t line, Team team) const {
    const int64_t from = layout.First(line);
    const int64_t to = LineLayout{k, layout.inner}.First(line);
    PassOver(layout.n, k, x + from, layout.inner, team,
             [&](int64_t r, int64_t at) { Write(from, to + r * layout.inner, at); });
  }

  __device__ void Write(int64_t from, int64_t to, int64_t at) const {
    const int64_t source = from + at * layout.inner;
    values[to] = at < 0 ? T{} : x[source];
    indices[to] = at;
    if (flat != nullptr) flat[to] = at < 0 ? -1 : source;
  }
};

// The same of each segment [offsets[s], offsets[s + 1]).
struct SelectOfSegments {
  static constexpr const char* kName = "LengthsTopK";
  const int64_t* offsets;
  int64_t k;
  const float* x;
  float* values;
  int32_t* indices;

  template <class Team>
  __device__ void operator()(int64_t s, Team team) const {
    const float* from = x + offsets[s];
    const int64_t n = offsets[s + 1] > offsets[s] ? offsets[s + 1] - offsets[s] : 0;
    PassOver(n, k, from, 1, team, [&](int64_t r, int64_t at) {
      values[s * k + r] = at < 0 ? 0.f : from[at];
      indices[s * k + r] = static_cast<int32_t>(at);
    });
  }
};

// The order of numbers of up to 32 bits fits into 32.
template <typename T>
__device__ inline uint64_t ShortOrderOf(T stored) {
  const auto value = cuda::Widen(stored);
  constexpr uint32_t kSign = uint32_t{1} << 31;
  if constexpr (std::is_integral_v<T>) {
    return static_cast<uint32_t>(value) ^ kSign;
  } else {
    if (value != value) return ~uint32_t{0};
    const float plain = value == 0 ? 0.f : value;  // one zero
    uint32_t bits;
    memcpy(&bits, &plain, sizeof(bits));
    return (bits & kSign) != 0 ? ~bits : bits | kSign;
  }
}

// All elements in order: keys of ~order << 32 | position.
template <typename T>
void SortLargest(int64_t lines, const SelectLargest<T>& select, uint64_t* keys,
                 cuda::Stream stream) {
  const int64_t n = select.layout.n, size = SortedKeysSize(n), k = select.k;
  cuda::ForEach("TopKKeys", lines * size, stream, [=] __device__(int64_t i) {
    const int64_t j = i % size;
    uint64_t order = 0;  // after the end: sorted last, after the smallest integer
    if (j < n) {
      order = ShortOrderOf(select.x[select.layout.First(i / size) + j * select.layout.inner]);
    }
    keys[i] = (~order & 0xffffffff) << 32 | static_cast<uint64_t>(j);
  });
  LaunchSortKeys(lines, size, keys, stream);
  cuda::ForEach("TopKSorted", lines * k, stream, [=] __device__(int64_t i) {
    const int64_t line = i / k, r = i % k;
    const int64_t to = LineLayout{k, select.layout.inner}.First(line) + r * select.layout.inner;
    const auto at = r < n ? static_cast<int64_t>(keys[line * size + r] & 0xffffffff) : -1;
    select.Write(select.layout.First(line), to, at);
  });
}

}  // namespace

int64_t TopKKeys(int64_t lines, int64_t n, int64_t k, size_t itemsize) {
  const bool passes = std::min(k, n) <= kMaxPasses || itemsize > sizeof(uint32_t) ||
                      n > std::numeric_limits<uint32_t>::max();
  return passes ? 0 : lines * SortedKeysSize(n);
}

template <typename T>
void LaunchTopK(int64_t lines, const LineLayout& layout, int64_t k, const T* x, T* values,
                int64_t* indices, int64_t* flat, uint64_t* keys, cuda::Stream stream) {
  const SelectLargest<T> select{layout, k, x, values, indices, flat};
  if constexpr (sizeof(T) <= sizeof(uint32_t)) {
    if (keys != nullptr) return SortLargest(lines, select, keys, stream);
  }
  LaunchForEachRow(lines, layout.n, select, stream);
}

template <typename T>
void LaunchScatterTopK(int64_t n, const ScatterTopK<T>& put, cuda::KernelReport* report,
                       cuda::Stream stream) {
  cuda::ForEach("TopKGradient", n, stream, [=] __device__(int64_t at) {
    const int64_t index = put.indices[at];
    if (index < -1 || index >= put.layout.n) {
      cuda::Report(report, cuda::KernelReport::kIndexOutOfRange, at, 0, put.layout.n,
                   static_cast<double>(index));
    }
    put(at);
  });
}

void LaunchTopKOfSegments(int64_t segments, int64_t width, const int64_t* offsets, int64_t k,
                          const float* x, float* values, int32_t* indices, cuda::Stream stream) {
  LaunchForEachRow(segments, width, SelectOfSegments{offsets, k, x, values, indices}, stream);
}

INSTANTIATE_FOR_EACH_ROW(KeepFirst);
INSTANTIATE_FOR_EACH_ROW(ScatterFlexibleTopK);
INSTANTIATE_FOR_EACH(ScatterLengthsTopK);
INSTANTIATE_FOR_EACH_ROW(FindLastPosition<int32_t>);
INSTANTIATE_FOR_EACH_ROW(FindLastPosition<int64_t>);

#define INSTANTIATE(T)                                                                     \
  template void LaunchTopK<T>(int64_t, const LineLayout&, int64_t, const T*, T*, int64_t*, \
                              int64_t*, uint64_t*, cuda::Stream);                          \
  template void LaunchScatterTopK<T>(int64_t, const ScatterTopK<T>&, cuda::KernelReport*,  \
                                     cuda::Stream);                                        \
  INSTANTIATE_FOR_EACH_ROW(FindExtreme<true, T>);                                          \
  INSTANTIATE_FOR_EACH_ROW(FindExtreme<false, T>)
INSTANTIATE(float);
INSTANTIATE(double);
INSTANTIATE(float16);
INSTANTIATE(bfloat16);
INSTANTIATE(int32_t);
INSTANTIATE(int64_t);

}  // namespace caffe2
