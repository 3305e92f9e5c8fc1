// LSTMUnit and GRUUnit on CUDA devices. The timestep may lie in host memory, where it is free to
// read.
#include "operators/portable_cuda.h"
#include "operators/recurrent_unit.h"
#include "operators/recurrent_unit_functions.h"

namespace caffe2 {
namespace {

class CudaRecurrentUnit : public RecurrentUnitBase<CUDAContext> {
 public:
  using RecurrentUnitBase::RecurrentUnitBase;
  bool RunOnDevice() override = 0;

 protected:
  UnitStep ReadUnitStep(int state, int blocks, int* input) const {
    const Step step = ReadStep(state, blocks, input);
    return {step.units, step.timestep, step.lengths, drop_states_};
  }
};

class CudaLstmUnitOp final : public CudaRecurrentUnit {
 public:
  using CudaRecurrentUnit::CudaRecurrentUnit;
  bool RunOnDevice() override {
    int next = 0;
    const UnitStep step = ReadUnitStep(C_PREV, 4, &next);
    const float* h_prev = DataLike(H_PREV, C_PREV);
    ForEach(Input(C_PREV).numel(),
            LstmUnit{step, GetSingleArgument<float>("forget_bias", 0.f), h_prev,
                     Input(C_PREV).data<float>(), Input(GATES).data<float>(), OutputLike(H, C_PREV),
                     OutputLike(C, C_PREV)},
            &context_);
    return true;
  }

 private:
  enum { H_PREV, C_PREV, GATES };
  enum { H, C };
};

class CudaLstmUnitGradientOp final : public CudaRecurrentUnit {
 public:
  using CudaRecurrentUnit::CudaRecurrentUnit;
  bool RunOnDevice() override {
    int next = 0;  // becomes the index of H; C, dH and dC follow
    const UnitStep step = ReadUnitStep(C_PREV, 4, &next);
    LstmUnitGradient gradient{step,
                              GetSingleArgument<float>("forget_bias", 0.f),
                              Input(C_PREV).data<float>(),
                              Input(GATES).data<float>(),
                              DataLike(next + 1, C_PREV),
                              DataLike(next + 2, C_PREV),
                              DataLike(next + 3, C_PREV),
                              nullptr,
                              nullptr,
                              nullptr};
    gradient.dh_prev = OutputLike(DH_PREV, H_PREV);
    gradient.dc_prev = OutputLike(DC_PREV, C_PREV);
    gradient.dx = OutputLike(DGATES, GATES);
    ForEach(Input(C_PREV).numel(), gradient, &context_);
    return true;
  }

 private:
  enum { H_PREV, C_PREV, GATES };
  enum { DH_PREV, DC_PREV, DGATES };
};

class CudaGruUnitOp final : public CudaRecurrentUnit {
 public:
  using CudaRecurrentUnit::CudaRecurrentUnit;
  bool RunOnDevice() override {
    int next = 0;
    const UnitStep step = ReadUnitStep(H_PREV, 3, &next);
    ForEach(Input(H_PREV).numel(),
            GruUnit{step, Input(H_PREV).data<float>(), Input(GATES).data<float>(),
                    OutputLike(0, H_PREV)},
            &context_);
    return true;
  }

 private:
  enum { H_PREV, GATES };
};

class CudaGruUnitGradientOp final : public CudaRecurrentUnit {
 public:
  using CudaRecurrentUnit::CudaRecurrentUnit;
  bool RunOnDevice() override {
    int next = 0;  // becomes the index of H; dH follows
    const UnitStep step = ReadUnitStep(H_PREV, 3, &next);
    const float* dh = DataLike(next + 1, H_PREV);
    ForEach(Input(H_PREV).numel(),
            GruUnitGradient{step, Input(H_PREV).data<float>(), Input(GATES).data<float>(), dh,
                            OutputLike(DH_PREV, H_PREV), OutputLike(DGATES, GATES)},
            &context_);
    return true;
  }

 private:
  enum { H_PREV, GATES };
  enum { DH_PREV, DGATES };
};

REGISTER_CUDA_OPERATOR(LSTMUnit, CudaLstmUnitOp);
REGISTER_CUDA_OPERATOR(LSTMUnitGradient, CudaLstmUnitGradientOp);
REGISTER_CUDA_OPERATOR(GRUUnit, CudaGruUnitOp);
REGISTER_CUDA_OPERATOR(GRUUnitGradient, CudaGruUnitGradientOp);

}  // namespace
}  // namespace caffe2
