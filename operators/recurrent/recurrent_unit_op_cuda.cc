// LSTMUnit and GRUUnit on CUDA devices. The timestep may lie in host memory, where it is free to
// read.
#include "operators/common/portable_cuda.h"
#include "operators/recurrent/recurrent_unit.h"
#include "operators/recurrent/recurrent_unit_functions.h"

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
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    int next = 0;
    const UnitStep step = ReadUnitStep(C_PREV, 4, &next);
    const T* h_prev = DataLike<T>(H_PREV, C_PREV);
    ForEach(Input(C_PREV).numel(),
            LstmUnit<T>{step, GetSingleArgument<float>("forget_bias", 0.f), h_prev,
                        Input(C_PREV).data<T>(), Input(GATES).data<T>(), OutputLike<T>(H, C_PREV),
                        OutputLike<T>(C, C_PREV)},
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
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    int next = 0;  // becomes the index of H; C, dH and dC follow
    const UnitStep step = ReadUnitStep(C_PREV, 4, &next);
    LstmUnitGradient<T> gradient{step,
                                 GetSingleArgument<float>("forget_bias", 0.f),
                                 Input(C_PREV).data<T>(),
                                 Input(GATES).data<T>(),
                                 DataLike<T>(next + 1, C_PREV),
                                 DataLike<T>(next + 2, C_PREV),
                                 DataLike<T>(next + 3, C_PREV),
                                 nullptr,
                                 nullptr,
                                 nullptr};
    gradient.dh_prev = OutputLike<T>(DH_PREV, H_PREV);
    gradient.dc_prev = OutputLike<T>(DC_PREV, C_PREV);
    gradient.dx = OutputLike<T>(DGATES, GATES);
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
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    int next = 0;
    const UnitStep step = ReadUnitStep(H_PREV, 3, &next);
    ForEach(
        Input(H_PREV).numel(),
        GruUnit<T>{step, Input(H_PREV).data<T>(), Input(GATES).data<T>(), OutputLike<T>(0, H_PREV)},
        &context_);
    return true;
  }

 private:
  enum { H_PREV, GATES };
};

class CudaGruUnitGradientOp final : public CudaRecurrentUnit {
 public:
  using CudaRecurrentUnit::CudaRecurrentUnit;
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    int next = 0;  // becomes the index of H; dH follows
    const UnitStep step = ReadUnitStep(H_PREV, 3, &next);
    const T* dh = DataLike<T>(next + 1, H_PREV);
    ForEach(Input(H_PREV).numel(),
            GruUnitGradient<T>{step, Input(H_PREV).data<T>(), Input(GATES).data<T>(), dh,
                               OutputLike<T>(DH_PREV, H_PREV), OutputLike<T>(DGATES, GATES)},
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
