// caffe2/cuda/convolution.h and fused_convolution.h by plain loops.
#include "caffe2/cuda/convolution.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "caffe2/core/logging.h"
#include "caffe2/cuda/fused_convolution.h"
#include "tests/cuda_emulation/device.h"
#include "tests/cuda_emulation/element_number.h"

namespace caffe2::cuda {
namespace {

using Index = std::array<int64_t, 5>;  // N, C, three spatial axes

Index Full(const std::vector<int64_t>& dims, size_t before, int64_t fill) {
  std::vector<int64_t> full = dims;
  while (full.size() < before + 3) full.insert(full.begin() + before, fill);
  Index index{};
  for (size_t i = 0; i < full.size(); ++i) index[5 - full.size() + i] = full[i];
  return index;
}

int64_t ElementsOf(const std::vector<int64_t>& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

int64_t Offset(const Index& dims, const Index& at, bool channels_last) {
  int64_t offset = at[0];
  if (!channels_last) offset = offset * dims[1] + at[1];
  for (int d = 2; d < 5; ++d) offset = offset * dims[d] + at[d];
  return channels_last ? offset * dims[1] + at[1] : offset;
}

template <typename T>
class Loops {
 public:
  explicit Loops(const ConvProblem& p)
      : x_(Full(p.x, 2, 1)),
        filter_(Full(p.filter, 2, 1)),
        y_(Full(p.y, 2, 1)),
        stride_(Full(p.stride, 0, 1)),
        dilation_(Full(p.dilation, 0, 1)),
        pad_(Full(p.pad_begin, 0, 0)),
        channels_last_(p.channels_last) {}

  // Sums a * b over all triples of elements (x, filter, y) that belong together in the convolution.
  // The sums go to the array of the triple that `result` is; with `add` they are added to it.
  void Run(ConvDirection direction, const T* x, const T* filter, const T* y, T* result,
           bool add = false) const {
    const Index& of = direction == ConvDirection::kForward        ? y_
                      : direction == ConvDirection::kBackwardData ? x_
                                                                  : filter_;
    std::vector<double> sums(of[0] * of[1] * of[2] * of[3] * of[4], 0.0);
    for (size_t i = 0; add && i < sums.size(); ++i) sums[i] = ToNumber(result[i]);
    ForTriples([&](int64_t ix, int64_t iw, int64_t iy) {
      switch (direction) {
        case ConvDirection::kForward:
          sums[iy] += static_cast<double>(ToNumber(x[ix])) * ToNumber(filter[iw]);
          break;
        case ConvDirection::kBackwardData:
          sums[ix] += static_cast<double>(ToNumber(y[iy])) * ToNumber(filter[iw]);
          break;
        case ConvDirection::kBackwardFilter:
          sums[iw] += static_cast<double>(ToNumber(x[ix])) * ToNumber(y[iy]);
          break;
      }
    });
    for (size_t i = 0; i < sums.size(); ++i) StoreNumber(sums[i], result + i);
  }

 private:
  template <class F>
  void ForTriples(const F& f) const {
    const int64_t filters_per_group = filter_[0] / (x_[1] / filter_[1]);
    Index y;
    for (y[0] = 0; y[0] < y_[0]; ++y[0]) {
      for (y[1] = 0; y[1] < y_[1]; ++y[1]) {
        for (y[2] = 0; y[2] < y_[2]; ++y[2]) {
          for (y[3] = 0; y[3] < y_[3]; ++y[3]) {
            for (y[4] = 0; y[4] < y_[4]; ++y[4]) ForTaps(y, y[1] / filters_per_group, f);
          }
        }
      }
    }
  }
  template <class F>
  void ForTaps(const Index& y, int64_t group, const F& f) const {
    Index w;
    w[0] = y[1];
    for (w[1] = 0; w[1] < filter_[1]; ++w[1]) {
      for (w[2] = 0; w[2] < filter_[2]; ++w[2]) {
        for (w[3] = 0; w[3] < filter_[3]; ++w[3]) {
          for (w[4] = 0; w[4] < filter_[4]; ++w[4]) {
            Index x{y[0], group * filter_[1] + w[1]};
            bool inside = true;
            for (int d = 2; d < 5; ++d) {
              x[d] = y[d] * stride_[d] - pad_[d] + w[d] * dilation_[d];
              inside = inside && x[d] >= 0 && x[d] < x_[d];
            }
            if (!inside) continue;
            f(Offset(x_, x, channels_last_), Offset(filter_, w, channels_last_),
              Offset(y_, y, channels_last_));
          }
        }
      }
    }
  }

  Index x_, filter_, y_, stride_, dilation_, pad_;
  bool channels_last_;
};

template <typename T>
void ConvolveAs(ConvDirection direction, const ConvProblem& problem, const void* x,
                const void* filter, const void* y, void* result, bool add) {
  Loops<T>(problem).Run(direction, static_cast<const T*>(x), static_cast<const T*>(filter),
                        static_cast<const T*>(y), static_cast<T*>(result), add);
}

// The same as cuDNN's engines on Hopper.
bool HasEngine(const ConvProblem& problem, bool normed, bool with_z = false) {
  if (with_z && (problem.filter[2] != 1 || problem.x[2] != problem.y[2])) return false;
  return problem.channels_last && problem.x[1] == problem.filter[1] &&
         (problem.type.Match<float16>() || (!normed && problem.type.Match<bfloat16>()));
}

// Bias, sum and Relu after a convolution; no groups.
template <typename T>
void BiasAs(const ConvProblem& problem, const void* x, const void* filter, const void* bias,
            const void* z, bool relu, void* y) {
  auto* to = static_cast<T*>(y);
  Loops<T>(problem).Run(ConvDirection::kForward, static_cast<const T*>(x),
                        static_cast<const T*>(filter), nullptr, to);
  const int64_t channels = problem.y[1];
  const int64_t image = ElementsOf(problem.y) / std::max<int64_t>(1, problem.y[0] * channels);
  for (int64_t i = 0; i < ElementsOf(problem.y); ++i) {
    const int64_t c = problem.channels_last ? i % channels : i / image % channels;
    float value = ToNumber(to[i]) + ToNumber(static_cast<const T*>(bias)[c]);
    if (z != nullptr) value += ToNumber(static_cast<const T*>(z)[i]);
    StoreNumber(relu && value < 0 ? 0.f : value, &to[i]);
  }
}

// An element of an image, normalized if the image is.
template <typename T>
float NormedAt(const T* image, const BatchNormFactors* norm, int64_t i, int64_t c) {
  if (norm == nullptr) return ToNumber(image[i]);
  return ToNumber(image[i]) * ToNumber(static_cast<const T*>(norm->factor)[c]) +
         ToNumber(static_cast<const T*>(norm->shift)[c]);
}
const BatchNormFactors* FactorsOfZ(const NormedInput& norm) {
  return norm.z_factors ? &*norm.z_factors : nullptr;
}

template <typename T>
std::vector<T> Normed(const ConvProblem& problem, const NormedInput& norm, const T* x) {
  std::vector<T> normed(ElementsOf(problem.x));
  const auto* z = static_cast<const T*>(norm.z);
  for (size_t i = 0; i < normed.size(); ++i) {
    const auto c = static_cast<int64_t>(i % problem.x[1]);
    const float added = z != nullptr ? NormedAt(z, FactorsOfZ(norm), i, c) : 0.f;
    StoreNumber(std::max(0.f, NormedAt(x, &norm.factors, i, c) + added), &normed[i]);
  }
  if (norm.normed != nullptr) std::copy(normed.begin(), normed.end(), static_cast<T*>(norm.normed));
  return normed;
}

template <typename T>
void StatsAs(const ConvProblem& problem, const NormedInput* norm, const T* x, const T* filter, T* y,
             float* sums, float* square_sums) {
  std::vector<T> normed;
  if (norm) normed = Normed(problem, *norm, x);
  Loops<T>(problem).Run(ConvDirection::kForward, norm ? normed.data() : x, filter, nullptr, y);
  const int64_t channels = problem.y[1];
  std::fill_n(sums, channels, 0.f);
  std::fill_n(square_sums, channels, 0.f);
  for (int64_t i = 0; i < ElementsOf(problem.y); ++i) {
    const float value = ToNumber(y[i]);
    sums[i % channels] += value;
    square_sums[i % channels] += value * value;
  }
}

// How far an element is from the mean, in standard deviations.
float UnitAt(const float16* image, const BatchNormFactors& norm, int64_t i, int64_t c) {
  return (ToNumber(image[i]) - norm.mean[c]) * norm.inverse_std[c];
}
float RecomputedAt(const float16* image, const BatchNormFactors& norm, int64_t i, int64_t c) {
  return UnitAt(image, norm, i, c) * norm.scale[c] + norm.bias[c];
}

void SumsAs16(const ConvProblem& problem, const BatchNormFactors& norm, const float16* image,
              const float16* g, const NormSums& sums) {
  const int64_t channels = problem.x[1];
  std::fill_n(sums.dscale, channels, 0.f);
  std::fill_n(sums.dbias, channels, 0.f);
  for (int64_t i = 0; i < ElementsOf(problem.x); ++i) {
    const int64_t c = i % channels;
    sums.dbias[c] += ToNumber(g[i]);
    sums.dscale[c] += ToNumber(g[i]) * UnitAt(image, norm, i, c);
  }
}

void BackwardDataAs16(const ConvProblem& problem, const NormedInput& norm, const float16* x,
                      const float16* filter, const float16* dy, const NormedInputGradient& to) {
  auto* g = static_cast<float16*>(to.g);
  const auto *z = static_cast<const float16*>(norm.z), *also = static_cast<const float16*>(to.also);
  Loops<float16>(problem).Run(ConvDirection::kBackwardData, nullptr, filter, dy, g);
  for (int64_t i = 0; i < ElementsOf(problem.x); ++i) {
    const int64_t c = i % problem.x[1];
    float value = RecomputedAt(x, norm.factors, i, c);
    if (z != nullptr)
      value += norm.z_factors ? RecomputedAt(z, *norm.z_factors, i, c) : ToNumber(z[i]);
    if (also != nullptr) StoreNumber(ToNumber(g[i]) + ToNumber(also[i]), &g[i]);
    if (value <= 0) StoreNumber(0, &g[i]);
  }
  SumsAs16(problem, norm.factors, x, g, to.sums);
  if (norm.z_factors) SumsAs16(problem, *norm.z_factors, z, g, to.z_sums);
}

}  // namespace

bool ConvolveWithBias(const ConvProblem& problem, const void* x, const void* filter,
                      const void* bias, const void* z, bool relu, void* y, int /*device*/,
                      Stream stream) {
  if (problem.x[1] != problem.filter[1]) return false;
  emulation::Perform(stream, [=] {
    const auto run = problem.type.Match<float>()     ? BiasAs<float>
                     : problem.type.Match<float16>() ? BiasAs<float16>
                                                     : BiasAs<bfloat16>;
    run(problem, x, filter, bias, z, relu, y);
  });
  return true;
}

bool ConvolveWithStats(const ConvProblem& problem, const NormedInput* norm, const void* x,
                       const void* filter, void* y, float* sums, float* square_sums, int /*device*/,
                       Stream stream) {
  if (!HasEngine(problem, norm != nullptr, norm != nullptr && norm->z != nullptr)) return false;
  const NormedInput by = norm ? *norm : NormedInput();
  const bool normed = norm != nullptr;
  emulation::Perform(stream, [=] {
    const auto run = [&]<typename T>(const T* typed_x) {
      StatsAs(problem, normed ? &by : nullptr, typed_x, static_cast<const T*>(filter),
              static_cast<T*>(y), sums, square_sums);
    };
    if (problem.type.Match<float16>()) {
      run(static_cast<const float16*>(x));
    } else {
      run(static_cast<const bfloat16*>(x));
    }
  });
  return true;
}

bool ConvolveNormedBackwardFilter(const ConvProblem& problem, const NormedInput& norm,
                                  const void* x, const void* dy, void* dfilter, int /*device*/,
                                  Stream stream) {
  if (!HasEngine(problem, true)) return false;
  emulation::Perform(stream, [=] {
    const auto normed = Normed(problem, norm, static_cast<const float16*>(x));
    Loops<float16>(problem).Run(ConvDirection::kBackwardFilter, normed.data(), nullptr,
                                static_cast<const float16*>(dy), static_cast<float16*>(dfilter));
  });
  return true;
}

bool ConvolveNormedBackwardData(const ConvProblem& problem, const NormedInput& norm, const void* x,
                                const void* filter, const void* dy, const NormedInputGradient& to,
                                int /*device*/, Stream stream) {
  if (!HasEngine(problem, true, norm.z != nullptr)) return false;
  emulation::Perform(stream, [=] {
    BackwardDataAs16(problem, norm, static_cast<const float16*>(x),
                     static_cast<const float16*>(filter), static_cast<const float16*>(dy), to);
  });
  return true;
}

void Convolve(ConvDirection direction, const ConvProblem& problem, const void* x,
              const void* filter, const void* y, void* result, int /*device*/, Stream stream,
              bool add) {
  emulation::Perform(stream, [=] {
    if (problem.type.Match<float>()) {
      ConvolveAs<float>(direction, problem, x, filter, y, result, add);
    } else if (problem.type.Match<float16>()) {
      ConvolveAs<float16>(direction, problem, x, filter, y, result, add);
    } else {
      CAFFE_ENFORCE(problem.type.Match<bfloat16>(), "no convolution of ", problem.type.name());
      ConvolveAs<bfloat16>(direction, problem, x, filter, y, result, add);
    }
  });
}

}  // namespace caffe2::cuda
