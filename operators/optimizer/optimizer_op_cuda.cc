// Optimizers of dense parameters on CUDA devices. Learning rate and
// iteration may lie in host memory; a rate on the device is read there.
#include "operators/optimizer/optimizer_op_cuda.h"

#include "caffe2/core/device_backend.h"
#include "caffe2/cuda/context_cuda.h"
#include "caffe2/cuda/host_values.h"
#include "caffe2/cuda/reduction_kernels.h"
#include "operators/common/optimizer_cuda.h"
#include "operators/common/portable_cuda.h"
#include "operators/elementwise/scale_blobs_op.h"
#include "operators/optimizer/adadelta_op.h"
#include "operators/optimizer/adagrad_op.h"
#include "operators/optimizer/adam_op.h"
#include "operators/optimizer/clip_tensor_op.h"
#include "operators/optimizer/decay_adagrad_op.h"
#include "operators/optimizer/ftrl_op.h"
#include "operators/optimizer/gftrl_op.h"
#include "operators/optimizer/lars_op.h"
#include "operators/optimizer/momentum_sgd_op.h"
#include "operators/optimizer/optimizer_check.h"
#include "operators/optimizer/optimizer_kernels.h"
#include "operators/optimizer/rmsprop_op.h"
#include "operators/optimizer/storm_op.h"
#include "operators/optimizer/weight_average_op.h"
#include "operators/optimizer/weight_scale_op.h"
#include "operators/optimizer/wngrad_op.h"

namespace caffe2 {

Rate RateOf(const Tensor& lr) {
  return RateFor(lr, "the learning rate", static_cast<CUDAContext*>(nullptr));
}

Rate CorrectionOf(float beta1, float beta2, const Tensor& iter) {
  CAFFE_ENFORCE_EQ(iter.numel(), 1, "the iteration counter has one element");
  cuda::HostValues* values = cuda::RecordedHostValues();
  if (values != nullptr && iter.GetDeviceType() == CPU) {
    const auto correction = [beta1, beta2, count = iter.data<int64_t>()] {
      return AdamCorrection(beta1, beta2, *count);
    };
    return {values->AddOf<float>(iter, correction), 0.f};
  }
  Tensor copy(CPU);
  return {nullptr, AdamCorrection(beta1, beta2, *OnHost(iter, &copy).data<int64_t>())};
}

namespace {

// An output shaped like `like`, or null if the operator does not have it.
float* OptionalOutput(Operator<CUDAContext>* op, int i, const Tensor& like) {
  if (i >= op->OutputSize()) return nullptr;
  op->Output(i)->ResizeLike(like);
  return op->Output(i)->mutable_data<float>();
}

}  // namespace

template <>
void MomentumSgdOp<CUDAContext, float>::Update(int64_t n, const Tensor& lr) {
  step_.lr = RateOf(lr);
  LaunchMomentumSgd(n, step_, context_.stream());
}
template <>
void MomentumSgdOp<CUDAContext, float16>::Update(int64_t n, const Tensor& lr) {
  step_.lr = RateOf(lr);
  LaunchMomentumSgd(n, step_, context_.stream());
}

template <>
bool AdamOp<CUDAContext>::RunOnDevice() {
  const Tensor &param = Input(PARAM), &moment1 = Input(MOMENT_1), &moment2 = Input(MOMENT_2),
               &grad = Input(GRAD);
  CheckOptimizerState(param, moment1, "moment_1");
  CheckOptimizerState(param, moment2, "moment_2");
  CheckOptimizerState(param, grad, "gradient");
  AdamStep u;
  u.lr = RateOf(Input<Tensor>(LR));
  u.found_inf = FoundInf(this, FOUND_INF);
  u.beta1 = arguments_.beta1;
  u.beta2 = arguments_.beta2;
  u.epsilon = arguments_.epsilon;
  u.correction = CorrectionOf(arguments_.beta1, arguments_.beta2, Input<Tensor>(ITER));
  u.param = param.data<float>();
  u.moment1 = moment1.data<float>();
  u.moment2 = moment2.data<float>();
  u.grad = grad.data<float>();
  u.param_out = OptionalOutput(this, PARAM_OUT, param);
  u.moment1_out = OptionalOutput(this, MOMENT_1_OUT, param);
  u.moment2_out = OptionalOutput(this, MOMENT_2_OUT, param);
  u.grad_out = OptionalOutput(this, GRAD_OUT, param);
  LaunchAdam(param.numel(), u, context_.stream());
  return true;
}

template <>
bool AdagradOp<CUDAContext>::RunOnDevice() {
  const Tensor &param = Input(PARAM), &moment = Input(MOMENT), &grad = Input(GRAD);
  CheckOptimizerState(param, moment, "moment");
  CheckOptimizerState(param, grad, "gradient");
  AdagradStep u;
  u.lr = RateOf(Input<Tensor>(LR));
  u.found_inf = FoundInf(this, FOUND_INF);
  u.epsilon = arguments_.epsilon;
  u.decay = arguments_.decay;
  u.weight_decay = arguments_.weight_decay;
  u.param = param.data<float>();
  u.moment = moment.data<float>();
  u.grad = grad.data<float>();
  u.param_out = OptionalOutput(this, PARAM_OUT, param);
  u.moment_out = OptionalOutput(this, MOMENT_OUT, param);
  u.rate_out = OptionalOutput(this, RATE_OUT, param);
  u.update_out = OptionalOutput(this, UPDATE_OUT, param);
  LaunchAdagrad(param.numel(), u, context_.stream());
  return true;
}

template <>
bool RmsPropOp<CUDAContext>::RunOnDevice() {
  const Tensor &grad = Input(GRAD), &mean_squares = Input(MEAN_SQUARES), &moment = Input(MOMENTUM);
  CheckOptimizerState(grad, mean_squares, "mean squares");
  CheckOptimizerState(grad, moment, "momentum");
  RmsPropStep u;
  u.lr = RateOf(Input<Tensor>(LR));
  u.found_inf = FoundInf(this, FOUND_INF);
  u.decay = decay_;
  u.momentum = momentum_;
  u.epsilon = epsilon_;
  u.grad = grad.data<float>();
  u.mean_squares = mean_squares.data<float>();
  u.moment = moment.data<float>();
  u.grad_out = OptionalOutput(this, GRAD_OUT, grad);
  u.mean_squares_out = OptionalOutput(this, MEAN_SQUARES_OUT, grad);
  u.moment_out = OptionalOutput(this, MOMENTUM_OUT, grad);
  LaunchRmsProp(grad.numel(), u, context_.stream());
  return true;
}

template <>
void SumOfSquares(int64_t n, const float* x, float* sum, CUDAContext* context) {
  Tensor scratch(context->device());
  scratch.Resize(cuda::kTotalScratch);
  cuda::LaunchTotal(cuda::Total::kSquareSum, n, x, 1.0, scratch.mutable_data<double>(), sum,
                    context->stream());
}

REGISTER_CUDA_OPERATOR(MomentumSGD, MomentumSgdOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(MomentumSGDUpdate, MomentumSgdOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(FP32MomentumSGDUpdate, MomentumSgdOp<CUDAContext>);
using FP16MomentumSgdOp = MomentumSgdOp<CUDAContext, float16>;
REGISTER_CUDA_OPERATOR(FP16MomentumSGDUpdate, FP16MomentumSgdOp);
REGISTER_CUDA_OPERATOR(Adam, AdamOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(Adagrad, AdagradOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(RmsProp, RmsPropOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(Adadelta, AdadeltaOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(DecayAdagrad, DecayAdagradOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(Ftrl, FtrlOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(Storm, StormOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(Wngrad, WngradOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(GFtrl, GFtrlOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(WeightScale, WeightScaleOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(ScaleBlobs, ScaleBlobsOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(SWA, SwaOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(EMA, EmaOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(Lars, LarsOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(ClipTensorByScaling, ClipTensorByScalingOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(ClipTensorByNorm, ClipTensorByScalingOp<CUDAContext>);

}  // namespace caffe2
