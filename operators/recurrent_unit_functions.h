// The element-wise parts of recurrent cells, for devices (portable.h): element i of N rows of D
// units. Formulas: lstm_unit_op.cc and gru_unit_op.cc.
#pragma once

#include "operators/portable.h"

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

struct LstmUnit {
  static constexpr const char* kName = "LSTMUnit";
  UnitStep step;
  float forget_bias;
  const float *h_prev, *c_prev, *x;
  float *h, *c;
  CAFFE2_PORTABLE void operator()(int64_t e) const {
    if (step.Ended(e)) {
      h[e] = step.Kept(h_prev[e]);
      c[e] = step.Kept(c_prev[e]);
      return;
    }
    const int64_t d = step.units;
    const float* gate = x + step.Gate(e, 4);
    const float i = GateOf(gate[0]), f = GateOf(gate[d] + forget_bias), o = GateOf(gate[2 * d]);
    const float cell = f * c_prev[e] + i * std::tanh(gate[3 * d]);
    c[e] = cell;
    h[e] = o * std::tanh(cell);
  }
};

struct LstmUnitGradient {
  static constexpr const char* kName = "LSTMUnitGradient";
  UnitStep step;
  float forget_bias;
  const float *c_prev, *x, *c, *dh, *dc;
  float *dh_prev, *dc_prev, *dx;
  CAFFE2_PORTABLE void operator()(int64_t e) const {
    const int64_t d = step.units;
    float* slope = dx + step.Gate(e, 4);
    const float dhidden = dh[e], dcarried = dc[e];  // the outputs may be the same arrays
    if (step.Ended(e)) {
      dh_prev[e] = step.Kept(dhidden);
      dc_prev[e] = step.Kept(dcarried);
      for (int k = 0; k < 4; ++k) slope[k * d] = 0;
      return;
    }
    const float* gate = x + step.Gate(e, 4);
    const float i = GateOf(gate[0]), f = GateOf(gate[d] + forget_bias), o = GateOf(gate[2 * d]);
    const float g = std::tanh(gate[3 * d]), tanh_c = std::tanh(c[e]), before = c_prev[e];
    const float dcell = dcarried + dhidden * o * (1.f - tanh_c * tanh_c);
    dh_prev[e] = 0;  // the previous hidden state acts through the gates only
    dc_prev[e] = dcell * f;
    slope[0] = dcell * g * i * (1.f - i);
    slope[d] = dcell * before * f * (1.f - f);
    slope[2 * d] = dhidden * tanh_c * o * (1.f - o);
    slope[3 * d] = dcell * i * (1.f - g * g);
  }
};

struct GruUnit {
  static constexpr const char* kName = "GRUUnit";
  UnitStep step;
  const float *h_prev, *x;
  float* h;
  CAFFE2_PORTABLE void operator()(int64_t e) const {
    const float before = h_prev[e];
    const float* gate = x + step.Gate(e, 3);
    const float u = GateOf(gate[step.units]), g = std::tanh(gate[2 * step.units]);
    h[e] = step.Ended(e) ? step.Kept(before) : before * u + g * (1.f - u);
  }
};

struct GruUnitGradient {
  static constexpr const char* kName = "GRUUnitGradient";
  UnitStep step;
  const float *h_prev, *x, *dh;
  float *dh_prev, *dx;
  CAFFE2_PORTABLE void operator()(int64_t e) const {
    const int64_t d = step.units;
    const float* gate = x + step.Gate(e, 3);
    float* slope = dx + step.Gate(e, 3);
    const float u = GateOf(gate[d]), g = std::tanh(gate[2 * d]), dhidden = dh[e];
    const bool ended = step.Ended(e);
    slope[0] = 0;
    slope[d] = ended ? 0.f : dhidden * (h_prev[e] - g) * u * (1.f - u);
    slope[2 * d] = ended ? 0.f : dhidden * (1.f - u) * (1.f - g * g);
    dh_prev[e] = ended ? step.Kept(dhidden) : dhidden * u;
  }
};

}  // namespace caffe2
