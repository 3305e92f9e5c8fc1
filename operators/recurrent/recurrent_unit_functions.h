// The element-wise parts of recurrent cells, for the host and for devices (host_device.h).
// Arithmetic is in float. Formulas: lstm_unit_op.cc and gru_unit_op.cc.
//
// LstmStep, GruStep and their gradients compute one unit; the host calls them in loops over the
// units of a row. Gate k of a unit is gate[k * d], and so are gradients of gates. An array that is
// written may be one that a value came from.
//
// LstmUnit, GruUnit and their gradients are functors for devices: element i of N rows of D units.
#pragma once

#include <algorithm>

#include "operators/common/host_device_math.h"

namespace caffe2 {

// One step of a batch: N rows of D units.
struct UnitStep {
  int64_t rows = 0, units = 0, timestep = 0;
  const int32_t* lengths = nullptr;  // of each row; null: all sequences go on
  bool drop_states = false;

  CAFFE2_HOST_DEVICE bool HasEnded(int64_t row) const {
    return lengths != nullptr && timestep >= lengths[row];
  }
  // Rows for one thread of the host: an element costs tens of operations.
  int64_t Grain() const { return std::max<int64_t>(1, 2048 / std::max<int64_t>(1, units)); }
  // For a sequence that has ended: the new state from the old state, or the gradient of the old
  // state from the gradient of the new state.
  CAFFE2_HOST_DEVICE float Kept(float state) const { return drop_states ? 0.f : state; }
  // The index of gate 0 of element i, if there are `gates` gates. Gate k is k * units further.
  CAFFE2_HOST_DEVICE int64_t Gate(int64_t i, int gates) const {
    return i / units * gates * units + i % units;
  }
};

template <typename T>
CAFFE2_HOST_DEVICE_INLINE float SigmoidOf(T x) {
  return host_device::Sigmoid(host_device::Widen(x));
}
template <typename T>
CAFFE2_HOST_DEVICE_INLINE float TanhOf(T x) {
  return host_device::Tanh(host_device::Widen(x));
}

template <typename T>
CAFFE2_HOST_DEVICE_INLINE void LstmStep(const T* gate, int64_t d, float forget_bias, T c_prev, T* h,
                                        T* c) {
  const float i = SigmoidOf(gate[0]), o = SigmoidOf(gate[2 * d]);
  const float f = host_device::Sigmoid(host_device::Widen(gate[d]) + forget_bias);
  const float cell = f * host_device::Widen(c_prev) + i * TanhOf(gate[3 * d]);
  *c = host_device::Narrow<T>(cell);
  *h = host_device::Narrow<T>(o * host_device::Tanh(cell));
}

// With dc' = dc + dh o (1 - tanh(c)^2), the gradient of the cell from both outputs: each gate gets
// dc' (o: dh) times the other factor of its product times its own derivative.
template <typename T>
CAFFE2_HOST_DEVICE_INLINE void LstmStepGradient(const T* gate, int64_t d, float forget_bias,
                                                T c_prev, T c, T dh, T dc, T* dgate, T* dc_prev) {
  const float i = SigmoidOf(gate[0]), o = SigmoidOf(gate[2 * d]);
  const float f = host_device::Sigmoid(host_device::Widen(gate[d]) + forget_bias);
  const float g = TanhOf(gate[3 * d]), tanh_c = TanhOf(c), dhidden = host_device::Widen(dh);
  const float dcell = host_device::Widen(dc) + dhidden * o * (1.f - tanh_c * tanh_c);
  *dc_prev = host_device::Narrow<T>(dcell * f);
  dgate[0] = host_device::Narrow<T>(dcell * g * i * (1.f - i));
  dgate[d] = host_device::Narrow<T>(dcell * host_device::Widen(c_prev) * f * (1.f - f));
  dgate[2 * d] = host_device::Narrow<T>(dhidden * tanh_c * o * (1.f - o));
  dgate[3 * d] = host_device::Narrow<T>(dcell * i * (1.f - g * g));
}

template <typename T>
CAFFE2_HOST_DEVICE_INLINE T GruStep(const T* gate, int64_t d, T h_prev) {
  const float u = SigmoidOf(gate[d]);
  return host_device::Narrow<T>(host_device::Widen(h_prev) * u + TanhOf(gate[2 * d]) * (1.f - u));
}

template <typename T>
CAFFE2_HOST_DEVICE_INLINE void GruStepGradient(const T* gate, int64_t d, T h_prev, T dh, T* dgate,
                                               T* dh_prev) {
  const float u = SigmoidOf(gate[d]), g = TanhOf(gate[2 * d]), dhidden = host_device::Widen(dh);
  *dh_prev = host_device::Narrow<T>(dhidden * u);
  dgate[0] = T{};
  dgate[d] = host_device::Narrow<T>(dhidden * (host_device::Widen(h_prev) - g) * u * (1.f - u));
  dgate[2 * d] = host_device::Narrow<T>(dhidden * (1.f - u) * (1.f - g * g));
}

template <typename T>
struct LstmUnit {
  static constexpr const char* kName = "LSTMUnit";
  UnitStep step;
  float forget_bias;
  const T *h_prev, *c_prev, *x;
  T *h, *c;
  CAFFE2_HOST_DEVICE void operator()(int64_t e) const {
    if (step.HasEnded(e / step.units)) {
      h[e] = host_device::Narrow<T>(step.Kept(host_device::Widen(h_prev[e])));
      c[e] = host_device::Narrow<T>(step.Kept(host_device::Widen(c_prev[e])));
    } else {
      LstmStep(x + step.Gate(e, 4), step.units, forget_bias, c_prev[e], h + e, c + e);
    }
  }
};

template <typename T>
struct LstmUnitGradient {
  static constexpr const char* kName = "LSTMUnitGradient";
  UnitStep step;
  float forget_bias;
  const T *c_prev, *x, *c, *dh, *dc;
  T *dh_prev, *dc_prev, *dx;
  CAFFE2_HOST_DEVICE void operator()(int64_t e) const {
    const int64_t d = step.units;
    T* dgate = dx + step.Gate(e, 4);
    const T dhidden = dh[e], dcarried = dc[e];  // the outputs may be the same arrays
    if (step.HasEnded(e / step.units)) {
      dh_prev[e] = host_device::Narrow<T>(step.Kept(host_device::Widen(dhidden)));
      dc_prev[e] = host_device::Narrow<T>(step.Kept(host_device::Widen(dcarried)));
      for (int k = 0; k < 4; ++k) dgate[k * d] = T{};
      return;
    }
    dh_prev[e] = T{};  // the previous hidden state acts through the gates only
    LstmStepGradient(x + step.Gate(e, 4), d, forget_bias, c_prev[e], c[e], dhidden, dcarried, dgate,
                     dc_prev + e);
  }
};

template <typename T>
struct GruUnit {
  static constexpr const char* kName = "GRUUnit";
  UnitStep step;
  const T *h_prev, *x;
  T* h;
  CAFFE2_HOST_DEVICE void operator()(int64_t e) const {
    if (step.HasEnded(e / step.units)) {
      h[e] = host_device::Narrow<T>(step.Kept(host_device::Widen(h_prev[e])));
    } else {
      h[e] = GruStep(x + step.Gate(e, 3), step.units, h_prev[e]);
    }
  }
};

template <typename T>
struct GruUnitGradient {
  static constexpr const char* kName = "GRUUnitGradient";
  UnitStep step;
  const T *h_prev, *x, *dh;
  T *dh_prev, *dx;
  CAFFE2_HOST_DEVICE void operator()(int64_t e) const {
    const int64_t d = step.units;
    T* dgate = dx + step.Gate(e, 3);
    if (step.HasEnded(e / step.units)) {
      dh_prev[e] = host_device::Narrow<T>(step.Kept(host_device::Widen(dh[e])));
      for (int k = 0; k < 3; ++k) dgate[k * d] = T{};
    } else {
      GruStepGradient(x + step.Gate(e, 3), d, h_prev[e], dh[e], dgate, dh_prev + e);
    }
  }
};

}  // namespace caffe2
