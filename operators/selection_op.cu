// Kernels of ArgMax, ArgMin and TopK.
#include "operators/portable_kernel.h"
#include "operators/selection_kernels.h"

namespace caffe2 {
namespace {

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

// The elements in order: each pass finds the one that follows the last.
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
    const int64_t n = layout.n, from = layout.First(line);
    const int64_t to = LineLayout{k, layout.inner}.First(line);
    uint64_t last = 0;
    int64_t last_at = -1;  // nothing was taken yet
    for (int64_t r = 0; r < k; ++r) {
      uint64_t best = 0;
      int64_t at = n;
      for (int64_t j = r < n ? team.first() : n; j < n; j += team.step()) {
        const uint64_t order = OrderOf(x[from + j * layout.inner]);
        const bool follows = last_at < 0 || order < last || (order == last && j > last_at);
        if (follows && (at == n || order > best)) {
          best = order;
          at = j;
        }
      }
      last = team.Reduce(best, portable::Larger());
      last_at = team.Reduce(best == last ? at : n, portable::Smaller());
      if (team.leader()) Write(from, to + r * layout.inner, last_at < n ? last_at : -1);
    }
  }

  __device__ void Write(int64_t from, int64_t to, int64_t at) const {
    const int64_t source = from + at * layout.inner;
    values[to] = at < 0 ? T{} : x[source];
    indices[to] = at;
    if (flat != nullptr) flat[to] = at < 0 ? -1 : source;
  }
};

}  // namespace

template <typename T>
void LaunchTopK(int64_t lines, const LineLayout& layout, int64_t k, const T* x, T* values,
                int64_t* indices, int64_t* flat, cuda::Stream stream) {
  LaunchForEachRow(lines, layout.n, SelectLargest<T>{layout, k, x, values, indices, flat}, stream);
}

template <typename T>
void LaunchPutTopK(int64_t n, const PutTopK<T>& put, cuda::KernelReport* report,
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

#define INSTANTIATE(T)                                                                           \
  template void LaunchTopK<T>(int64_t, const LineLayout&, int64_t, const T*, T*, int64_t*,       \
                              int64_t*, cuda::Stream);                                           \
  template void LaunchPutTopK<T>(int64_t, const PutTopK<T>&, cuda::KernelReport*, cuda::Stream); \
  INSTANTIATE_FOR_EACH_ROW(FindExtreme<true, T>);                                                \
  INSTANTIATE_FOR_EACH_ROW(FindExtreme<false, T>)
INSTANTIATE(float);
INSTANTIATE(double);
INSTANTIATE(float16);
INSTANTIATE(bfloat16);
INSTANTIATE(int32_t);
INSTANTIATE(int64_t);

}  // namespace caffe2
