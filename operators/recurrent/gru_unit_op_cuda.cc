// GRUUnit and its gradient on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/recurrent/recurrent_unit.h"

namespace caffe2 {
namespace {

class CudaGruUnitOp final : public RecurrentUnitBase<CUDAContext> {
 public:
  using RecurrentUnitBase::RecurrentUnitBase;
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    int next = 0;
    const UnitStep step = ReadStep(H_PREV, 3, &next);
    ForEach(
        Input(H_PREV).numel(),
        GruUnit<T>{step, Input(H_PREV).data<T>(), Input(GATES).data<T>(), OutputLike<T>(0, H_PREV)},
        &context_);
    return true;
  }

 private:
  enum { H_PREV, GATES };
};

class CudaGruUnitGradientOp final : public RecurrentUnitBase<CUDAContext> {
 public:
  using RecurrentUnitBase::RecurrentUnitBase;
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    int next = 0;  // becomes the index of H; dH follows
    const UnitStep step = ReadStep(H_PREV, 3, &next);
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

REGISTER_CUDA_OPERATOR(GRUUnit, CudaGruUnitOp);
REGISTER_CUDA_OPERATOR(GRUUnitGradient, CudaGruUnitGradientOp);

}  // namespace
}  // namespace caffe2
