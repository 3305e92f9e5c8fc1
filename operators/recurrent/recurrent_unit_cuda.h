// The base of LSTMUnit and GRUUnit on CUDA devices.
#pragma once

#include "operators/common/host_device_cuda.h"
#include "operators/recurrent/recurrent_unit.h"
#include "operators/recurrent/recurrent_unit_functions.h"

namespace caffe2 {

// The timestep may lie in host memory, where it is free to read.
class CudaRecurrentUnit : public RecurrentUnitBase<CUDAContext> {
 public:
  using RecurrentUnitBase::RecurrentUnitBase;
  bool RunOnDevice() override = 0;

 protected:
  // Like ReadStep(): reads the inputs from index `state` on, with `blocks` gates for each unit, and
  // sets `input` to the index of the next input.
  UnitStep ReadUnitStep(int state, int blocks, int* input) const {
    const Step step = ReadStep(state, blocks, input);
    return {step.units, step.timestep, step.lengths, drop_states_};
  }
};

}  // namespace caffe2
