// caffe2/cuda/convolution.h by plain loops.
#include "caffe2/cuda/convolution.h"

#include <array>

#include "caffe2/core/logging.h"
#include "tests/cuda_emulation/device.h"

namespace caffe2::cuda {
namespace {

float Widen(float value) { return value; }
float Widen(float16 value) { return ToFloat(value); }
float Widen(bfloat16 value) { return ToFloat(value); }
void Store(double value, float* to) { *to = static_cast<float>(value); }
void Store(double value, float16* to) { *to = ToFloat16(static_cast<float>(value)); }
void Store(double value, bfloat16* to) { *to = ToBFloat16(static_cast<float>(value)); }

using Index = std::array<int64_t, 5>;  // N, C, three spatial axes

Index Full(const std::vector<int64_t>& dims, size_t before, int64_t fill) {
  std::vector<int64_t> full = dims;
  while (full.size() < before + 3) full.insert(full.begin() + before, fill);
  Index index{};
  for (size_t i = 0; i < full.size(); ++i) index[5 - full.size() + i] = full[i];
  return index;
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

  // Adds up a * b for all triples of elements (x, filter, y) that the convolution joins: the sums
  // go to the one of them that `result` is.
  void Run(ConvDirection direction, const T* x, const T* filter, const T* y, T* result) const {
    const Index& of = direction == ConvDirection::kForward        ? y_
                      : direction == ConvDirection::kBackwardData ? x_
                                                                  : filter_;
    std::vector<double> sums(of[0] * of[1] * of[2] * of[3] * of[4], 0.0);
    ForTriples([&](int64_t ix, int64_t iw, int64_t iy) {
      switch (direction) {
        case ConvDirection::kForward:
          sums[iy] += static_cast<double>(Widen(x[ix])) * Widen(filter[iw]);
          break;
        case ConvDirection::kBackwardData:
          sums[ix] += static_cast<double>(Widen(y[iy])) * Widen(filter[iw]);
          break;
        case ConvDirection::kBackwardFilter:
          sums[iw] += static_cast<double>(Widen(x[ix])) * Widen(y[iy]);
          break;
      }
    });
    for (size_t i = 0; i < sums.size(); ++i) Store(sums[i], result + i);
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
                const void* filter, const void* y, void* result) {
  Loops<T>(problem).Run(direction, static_cast<const T*>(x), static_cast<const T*>(filter),
                        static_cast<const T*>(y), static_cast<T*>(result));
}

}  // namespace

void Convolve(ConvDirection direction, const ConvProblem& problem, const void* x,
              const void* filter, const void* y, void* result, int /*device*/, Stream /*stream*/) {
  emulation::Perform([=] {
    if (problem.type.Match<float>()) {
      ConvolveAs<float>(direction, problem, x, filter, y, result);
    } else if (problem.type.Match<float16>()) {
      ConvolveAs<float16>(direction, problem, x, filter, y, result);
    } else {
      CAFFE_ENFORCE(problem.type.Match<bfloat16>(), "no convolution of ", problem.type.name());
      ConvolveAs<bfloat16>(direction, problem, x, filter, y, result);
    }
  });
}

}  // namespace caffe2::cuda
