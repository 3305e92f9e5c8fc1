// LSTMUnit and its gradient on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/recurrent/recurrent_unit.h"

namespace caffe2 {
namespace {

class CudaLstmUnitOp final : public RecurrentUnitBase<CUDAContext> {
 public:
  using RecurrentUnitBase::RecurrentUnitBase;
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    int next = 0;
    const UnitStep step = ReadStep(C_PREV, 4, &next);
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

class CudaLstmUnitGradientOp final : public RecurrentUnitBase<CUDAContext> {
 public:
  using RecurrentUnitBase::RecurrentUnitBase;
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    int next = 0;  // becomes the index of H; C, dH and dC follow
    const UnitStep step = ReadStep(C_PREV, 4, &next);
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

REGISTER_CUDA_OPERATOR(LSTMUnit, CudaLstmUnitOp);
REGISTER_CUDA_OPERATOR(LSTMUnitGradient, CudaLstmUnitGradientOp);

}  // namespace
}  // namespace caffe2
