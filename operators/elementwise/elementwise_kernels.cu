#include "caffe2/cuda/kernel.h"
#include "operators/elementwise/elementwise_kernels.h"

namespace caffe2 {
namespace {

using cuda::Arithmetic;
using cuda::Narrow;
using cuda::Widen;

template <bool kWeighted, typename T>
void AddUp(int64_t n, const Terms& terms, T* y, cuda::Stream stream) {
  using A = Arithmetic<T>;
  cuda::ForEach("AddUp", n, stream, [=] __device__(int64_t i) {
    A sum = 0;
    for (int k = 0; k < terms.count; ++k) {
      A value = Widen(static_cast<const T*>(terms.x[k])[i]);
      if constexpr (kWeighted) {
        const float* address = terms.weight_address[k];
        value *= address != nullptr ? *address : terms.weight[k];
      }
      sum = k == 0 ? value : sum + value;
    }
    y[i] = Narrow<T>(sum);
  });
}

// Floating point goes through double, integers and bools through int64: both hold every value
// exactly.
struct AnyNumber {
  bool integral;
  double real;
  int64_t integer;
};

template <typename T>
__device__ inline AnyNumber LoadAs(const void* x, int64_t i) {
  const T value = static_cast<const T*>(x)[i];
  if constexpr (std::is_integral_v<T>) {
    return {true, 0.0, static_cast<int64_t>(value)};
  } else {
    return {false, static_cast<double>(Widen(value)), 0};
  }
}
__device__ inline AnyNumber Load(Number from, const void* x, int64_t i) {
  switch (from) {
    case Number::kFloat:
      return LoadAs<float>(x, i);
    case Number::kDouble:
      return LoadAs<double>(x, i);
    case Number::kFloat16:
      return LoadAs<float16>(x, i);
    case Number::kBFloat16:
      return LoadAs<bfloat16>(x, i);
    case Number::kBool:
      return LoadAs<bool>(x, i);
    case Number::kInt8:
      return LoadAs<int8_t>(x, i);
    case Number::kInt16:
      return LoadAs<int16_t>(x, i);
    case Number::kInt32:
      return LoadAs<int32_t>(x, i);
    case Number::kInt64:
      return LoadAs<int64_t>(x, i);
    case Number::kUInt8:
      return LoadAs<uint8_t>(x, i);
    case Number::kUInt16:
      return LoadAs<uint16_t>(x, i);
  }
  return {};
}

// `low` and `high` bound T. A value that does not fit becomes the nearer of them; NaN becomes 0.
template <typename T>
__device__ inline void StoreInteger(AnyNumber value, int64_t low, int64_t high, void* y,
                                    int64_t i) {
  int64_t integer = value.integer;
  if (!value.integral) {
    const double real = value.real;
    integer = real != real                        ? 0
              : real <= static_cast<double>(low)  ? low
              : real >= static_cast<double>(high) ? high
                                                  : static_cast<int64_t>(real);
  }
  static_cast<T*>(y)[i] = static_cast<T>(integer);
}
template <typename T>
__device__ inline void StoreReal(AnyNumber value, void* y, int64_t i) {
  using A = Arithmetic<T>;
  const A real = value.integral ? static_cast<A>(value.integer) : static_cast<A>(value.real);
  static_cast<T*>(y)[i] = Narrow<T>(real);
}
__device__ inline void Store(AnyNumber value, Number to, void* y, int64_t i) {
  switch (to) {
    case Number::kFloat:
      return StoreReal<float>(value, y, i);
    case Number::kDouble:
      return StoreReal<double>(value, y, i);
    case Number::kFloat16:
      return StoreReal<float16>(value, y, i);
    case Number::kBFloat16:
      return StoreReal<bfloat16>(value, y, i);
    case Number::kBool:
      static_cast<bool*>(y)[i] = value.integral ? value.integer != 0 : value.real != 0;
      return;
    case Number::kInt8:
      return StoreInteger<int8_t>(value, INT8_MIN, INT8_MAX, y, i);
    case Number::kInt16:
      return StoreInteger<int16_t>(value, INT16_MIN, INT16_MAX, y, i);
    case Number::kInt32:
      return StoreInteger<int32_t>(value, INT32_MIN, INT32_MAX, y, i);
    case Number::kInt64:
      return StoreInteger<int64_t>(value, INT64_MIN, INT64_MAX, y, i);
    case Number::kUInt8:
      return StoreInteger<uint8_t>(value, 0, UINT8_MAX, y, i);
    case Number::kUInt16:
      return StoreInteger<uint16_t>(value, 0, UINT16_MAX, y, i);
  }
}

template <typename T>
void FillWith(int64_t n, T value, void* y, cuda::Stream stream) {
  T* to = static_cast<T*>(y);
  cuda::ForEach("Fill", n, stream, [=] __device__(int64_t i) { to[i] = value; });
}

template <typename T>
void Select(int64_t n, int64_t row, const bool* condition, const void* x, const void* y, void* z,
            cuda::Stream stream) {
  const T *from_x = static_cast<const T*>(x), *from_y = static_cast<const T*>(y);
  T* to = static_cast<T*>(z);
  cuda::ForEach("Select", n, stream,
                [=] __device__(int64_t i) { to[i] = condition[i / row] ? from_x[i] : from_y[i]; });
}

template <typename From, typename To>
void ConvertFloats(int64_t n, const void* x, void* y, cuda::Stream stream) {
  cuda::Map(
      "Convert", n, stream, [] __device__(float v) { return v; }, static_cast<To*>(y),
      static_cast<const From*>(x));
}

}  // namespace

template <typename T>
void LaunchSum(int64_t n, const Terms& terms, T* y, cuda::Stream stream) {
  if (terms.count == 2) {
    using A = Arithmetic<T>;
    return cuda::Map(
        "Sum", n, stream, [] __device__(A a, A b) { return static_cast<A>(a + b); }, y,
        static_cast<const T*>(terms.x[0]), static_cast<const T*>(terms.x[1]));
  }
  AddUp<false>(n, terms, y, stream);
}
template <typename T>
void LaunchWeightedSum(int64_t n, const Terms& terms, T* y, cuda::Stream stream) {
  AddUp<true>(n, terms, y, stream);
}

void LaunchFill(int64_t n, size_t itemsize, uint64_t bits, void* y, cuda::Stream stream) {
  switch (itemsize) {
    case 1:
      return FillWith(n, static_cast<uint8_t>(bits), y, stream);
    case 2:
      return FillWith(n, static_cast<uint16_t>(bits), y, stream);
    case 4:
      return FillWith(n, static_cast<uint32_t>(bits), y, stream);
    default:
      return FillWith(n, bits, y, stream);
  }
}

template <typename T>
void LaunchFillFrom(int64_t n, float factor, const T* value, T* y, cuda::Stream stream) {
  using A = Arithmetic<T>;
  cuda::ForEach("FillFrom", n, stream, [=] __device__(int64_t i) {
    y[i] = Narrow<T>(static_cast<A>(factor) * Widen(*value));
  });
}

void LaunchSelect(int64_t n, int64_t row, size_t itemsize, const bool* condition, const void* x,
                  const void* y, void* z, cuda::Stream stream) {
  switch (itemsize) {
    case 1:
      return Select<uint8_t>(n, row, condition, x, y, z, stream);
    case 2:
      return Select<uint16_t>(n, row, condition, x, y, z, stream);
    case 4:
      return Select<uint32_t>(n, row, condition, x, y, z, stream);
    default:
      return Select<uint64_t>(n, row, condition, x, y, z, stream);
  }
}

void LaunchConvert(int64_t n, Number from, const void* x, Number to, void* y, cuda::Stream stream) {
  // The conversions of mixed precision run at full speed.
  if (from == Number::kFloat && to == Number::kFloat16) {
    return ConvertFloats<float, float16>(n, x, y, stream);
  }
  if (from == Number::kFloat && to == Number::kBFloat16) {
    return ConvertFloats<float, bfloat16>(n, x, y, stream);
  }
  if (from == Number::kFloat16 && to == Number::kFloat) {
    return ConvertFloats<float16, float>(n, x, y, stream);
  }
  if (from == Number::kBFloat16 && to == Number::kFloat) {
    return ConvertFloats<bfloat16, float>(n, x, y, stream);
  }
  cuda::ForEach("ConvertAny", n, stream,
                [=] __device__(int64_t i) { Store(Load(from, x, i), to, y, i); });
}

#define INSTANTIATE(T) template void LaunchSum<T>(int64_t, const Terms&, T*, cuda::Stream)
INSTANTIATE(float);
INSTANTIATE(double);
INSTANTIATE(float16);
INSTANTIATE(bfloat16);
INSTANTIATE(int32_t);
INSTANTIATE(int64_t);
#define INSTANTIATE_FILL(T) template void LaunchFillFrom(int64_t, float, const T*, T*, cuda::Stream)
INSTANTIATE_FILL(float);
INSTANTIATE_FILL(double);
INSTANTIATE_FILL(float16);
INSTANTIATE_FILL(bfloat16);
#define INSTANTIATE_WEIGHTED(T) \
  template void LaunchWeightedSum<T>(int64_t, const Terms&, T*, cuda::Stream)
INSTANTIATE_WEIGHTED(float);
INSTANTIATE_WEIGHTED(float16);
INSTANTIATE_WEIGHTED(bfloat16);

}  // namespace caffe2
