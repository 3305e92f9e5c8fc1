// The element-wise parts of recurrent cells, for devices (host_device.h): element i of N rows of D
// units. Arithmetic is in float. Formulas: lstm_unit_op.cc and gru_unit_op.cc.
#pragma once

#include "operators/common/host_device_math.h"

namespace caffe2 {

// One step of a batch, like RecurrentUnitBase::Step (recurrent_unit.h).
struct UnitStep {
  int64_t units = 0, timestep = 0;
  const int32_t* lengths = nullptr;  // null: all sequences go on
  bool drop_states = false;
  CAFFE2_HOST_DEVICE bool HasEnded(int64_t i) const {
    return lengths != nullptr && timestep >= lengths[i / units];
  }
  // For a sequence that has ended: the new state from the old state, or the gradient of the old
  // state from the gradient of the new state.
  CAFFE2_HOST_DEVICE float Kept(float state) const { return drop_states ? 0.f : state; }
  // The index of gate 0 of element i, if there are `gates` gates. Gate k is k * units further.
  CAFFE2_HOST_DEVICE int64_t Gate(int64_t i, int gates) const {
    return i / units * gates * units + i % units;
  }
};

template <typename T>
CAFFE2_HOST_DEVICE float GateOf(const T& x, float bias = 0) {
  return host_device::Sigmoid(host_device::Widen(x) + bias);
}
template <typename T>
CAFFE2_HOST_DEVICE float TanhOf(const T& x) {
  return std::tanh(static_cast<float>(host_device::Widen(x)));
}

template <typename T>
struct LstmUnit {
  static constexpr const char* kName = "LSTMUnit";
  UnitStep step;
  float forget_bias;
  const T *h_prev, *c_prev, *x;
  T *h, *c;
  CAFFE2_HOST_DEVICE void operator()(int64_t e) const {
    if (step.HasEnded(e)) {
      h[e] = host_device::Narrow<T>(step.Kept(host_device::Widen(h_prev[e])));
      c[e] = host_device::Narrow<T>(step.Kept(host_device::Widen(c_prev[e])));
      return;
    }
    const int64_t d = step.units;
    const T* gate = x + step.Gate(e, 4);
    const float i = GateOf(gate[0]), f = GateOf(gate[d], forget_bias), o = GateOf(gate[2 * d]);
    const float cell = f * host_device::Widen(c_prev[e]) + i * TanhOf(gate[3 * d]);
    c[e] = host_device::Narrow<T>(cell);
    h[e] = host_device::Narrow<T>(o * std::tanh(cell));
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
    const float dhidden = host_device::Widen(dh[e]),
                dcarried = host_device::Widen(dc[e]);  // the outputs may be the same arrays
    if (step.HasEnded(e)) {
      dh_prev[e] = host_device::Narrow<T>(step.Kept(dhidden));
      dc_prev[e] = host_device::Narrow<T>(step.Kept(dcarried));
      for (int k = 0; k < 4; ++k) dgate[k * d] = T{};
      return;
    }
    const T* gate = x + step.Gate(e, 4);
    const float i = GateOf(gate[0]), f = GateOf(gate[d], forget_bias), o = GateOf(gate[2 * d]);
    const float g = TanhOf(gate[3 * d]), tanh_c = TanhOf(c[e]);
    const float before = host_device::Widen(c_prev[e]);
    const float dcell = dcarried + dhidden * o * (1.f - tanh_c * tanh_c);
    dh_prev[e] = T{};  // the previous hidden state acts through the gates only
    dc_prev[e] = host_device::Narrow<T>(dcell * f);
    dgate[0] = host_device::Narrow<T>(dcell * g * i * (1.f - i));
    dgate[d] = host_device::Narrow<T>(dcell * before * f * (1.f - f));
    dgate[2 * d] = host_device::Narrow<T>(dhidden * tanh_c * o * (1.f - o));
    dgate[3 * d] = host_device::Narrow<T>(dcell * i * (1.f - g * g));
  }
};

template <typename T>
struct GruUnit {
  static constexpr const char* kName = "GRUUnit";
  UnitStep step;
  const T *h_prev, *x;
  T* h;
  CAFFE2_HOST_DEVICE void operator()(int64_t e) const {
    const float before = host_device::Widen(h_prev[e]);
    const T* gate = x + step.Gate(e, 3);
    const float u = GateOf(gate[step.units]), g = TanhOf(gate[2 * step.units]);
    h[e] =
        host_device::Narrow<T>(step.HasEnded(e) ? step.Kept(before) : before * u + g * (1.f - u));
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
    const T* gate = x + step.Gate(e, 3);
    T* dgate = dx + step.Gate(e, 3);
    const float u = GateOf(gate[d]), g = TanhOf(gate[2 * d]), dhidden = host_device::Widen(dh[e]);
    const bool ended = step.HasEnded(e);
    const float update = dhidden * (host_device::Widen(h_prev[e]) - g) * u * (1.f - u);
    dgate[0] = T{};
    dgate[d] = host_device::Narrow<T>(ended ? 0.f : update);
    dgate[2 * d] = host_device::Narrow<T>(ended ? 0.f : dhidden * (1.f - u) * (1.f - g * g));
    dh_prev[e] = host_device::Narrow<T>(ended ? step.Kept(dhidden) : dhidden * u);
  }
};

}  // namespace caffe2
