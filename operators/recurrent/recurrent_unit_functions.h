// The element-wise parts of recurrent cells, for devices (portable.h): element i of N rows of D
// units. Arithmetic is in float. Formulas: lstm_unit_op.cc and gru_unit_op.cc.
#pragma once

#include "operators/common/portable.h"

namespace caffe2 {

// One step of a batch, as RecurrentUnitBase::Step (recurrent_unit.h).
struct UnitStep {
  int64_t units = 0, timestep = 0;
  const int32_t* lengths = nullptr;  // null: all sequences go on
  bool drop_states = false;
  CAFFE2_PORTABLE bool Ended(int64_t i) const {
    return lengths != nullptr && timestep >= lengths[i / units];
  }
  // What a state becomes, or its gradient was, where the sequence has ended.
  CAFFE2_PORTABLE float Kept(float state) const { return drop_states ? 0.f : state; }
  // Where gate 0 of the element lies, of `gates` of them; each gate is `units` further.
  CAFFE2_PORTABLE int64_t Gate(int64_t i, int gates) const {
    return i / units * gates * units + i % units;
  }
};

CAFFE2_PORTABLE inline float GateOf(float x) { return 1.f / (1.f + std::exp(-x)); }
template <typename T>
CAFFE2_PORTABLE float GateOf(const T& x, float bias = 0) {
  return GateOf(portable::Widen(x) + bias);
}
template <typename T>
CAFFE2_PORTABLE float TanhOf(const T& x) {
  return std::tanh(static_cast<float>(portable::Widen(x)));
}

template <typename T>
struct LstmUnit {
  static constexpr const char* kName = "LSTMUnit";
  UnitStep step;
  float forget_bias;
  const T *h_prev, *c_prev, *x;
  T *h, *c;
  CAFFE2_PORTABLE void operator()(int64_t e) const {
    if (step.Ended(e)) {
      h[e] = portable::Narrow<T>(step.Kept(portable::Widen(h_prev[e])));
      c[e] = portable::Narrow<T>(step.Kept(portable::Widen(c_prev[e])));
      return;
    }
    const int64_t d = step.units;
    const T* gate = x + step.Gate(e, 4);
    const float i = GateOf(gate[0]), f = GateOf(gate[d], forget_bias), o = GateOf(gate[2 * d]);
    const float cell = f * portable::Widen(c_prev[e]) + i * TanhOf(gate[3 * d]);
    c[e] = portable::Narrow<T>(cell);
    h[e] = portable::Narrow<T>(o * std::tanh(cell));
  }
};

template <typename T>
struct LstmUnitGradient {
  static constexpr const char* kName = "LSTMUnitGradient";
  UnitStep step;
  float forget_bias;
  const T *c_prev, *x, *c, *dh, *dc;
  T *dh_prev, *dc_prev, *dx;
  CAFFE2_PORTABLE void operator()(int64_t e) const {
    const int64_t d = step.units;
    T* slope = dx + step.Gate(e, 4);
    const float dhidden = portable::Widen(dh[e]),
                dcarried = portable::Widen(dc[e]);  // the outputs may be the same arrays
    if (step.Ended(e)) {
      dh_prev[e] = portable::Narrow<T>(step.Kept(dhidden));
      dc_prev[e] = portable::Narrow<T>(step.Kept(dcarried));
      for (int k = 0; k < 4; ++k) slope[k * d] = T{};
      return;
    }
    const T* gate = x + step.Gate(e, 4);
    const float i = GateOf(gate[0]), f = GateOf(gate[d], forget_bias), o = GateOf(gate[2 * d]);
    const float g = TanhOf(gate[3 * d]), tanh_c = TanhOf(c[e]);
    const float before = portable::Widen(c_prev[e]);
    const float dcell = dcarried + dhidden * o * (1.f - tanh_c * tanh_c);
    dh_prev[e] = T{};  // the previous hidden state acts through the gates only
    dc_prev[e] = portable::Narrow<T>(dcell * f);
    slope[0] = portable::Narrow<T>(dcell * g * i * (1.f - i));
    slope[d] = portable::Narrow<T>(dcell * before * f * (1.f - f));
    slope[2 * d] = portable::Narrow<T>(dhidden * tanh_c * o * (1.f - o));
    slope[3 * d] = portable::Narrow<T>(dcell * i * (1.f - g * g));
  }
};

template <typename T>
struct GruUnit {
  static constexpr const char* kName = "GRUUnit";
  UnitStep step;
  const T *h_prev, *x;
  T* h;
  CAFFE2_PORTABLE void operator()(int64_t e) const {
    const float before = portable::Widen(h_prev[e]);
    const T* gate = x + step.Gate(e, 3);
    const float u = GateOf(gate[step.units]), g = TanhOf(gate[2 * step.units]);
    h[e] = portable::Narrow<T>(step.Ended(e) ? step.Kept(before) : before * u + g * (1.f - u));
  }
};

template <typename T>
struct GruUnitGradient {
  static constexpr const char* kName = "GRUUnitGradient";
  UnitStep step;
  const T *h_prev, *x, *dh;
  T *dh_prev, *dx;
  CAFFE2_PORTABLE void operator()(int64_t e) const {
    const int64_t d = step.units;
    const T* gate = x + step.Gate(e, 3);
    T* slope = dx + step.Gate(e, 3);
    const float u = GateOf(gate[d]), g = TanhOf(gate[2 * d]), dhidden = portable::Widen(dh[e]);
    const bool ended = step.Ended(e);
    const float update = dhidden * (portable::Widen(h_prev[e]) - g) * u * (1.f - u);
    slope[0] = T{};
    slope[d] = portable::Narrow<T>(ended ? 0.f : update);
    slope[2 * d] = portable::Narrow<T>(ended ? 0.f : dhidden * (1.f - u) * (1.f - g * g));
    dh_prev[e] = portable::Narrow<T>(ended ? step.Kept(dhidden) : dhidden * u);
  }
};

}  // namespace caffe2
