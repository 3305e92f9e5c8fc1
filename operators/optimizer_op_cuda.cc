// MomentumSGD, MomentumSGDUpdate, Adam, Adagrad and RmsProp on CUDA devices. Learning rate and
// iteration may lie in host memory; a rate on the device is read there.
#include "caffe2/core/device_backend.h"
#include "caffe2/cuda/context_cuda.h"
#include "operators/adagrad_op.h"
#include "operators/adam_op.h"
#include "operators/optimizer_check.h"
#include "operators/optimizer_kernels.h"
#include "operators/rmsprop_op.h"

namespace caffe2 {
namespace {

Rate RateOf(const Tensor& lr) {
  const CudaScalar scalar = ReadScalar(lr, "the learning rate");
  return {scalar.address, scalar.value};
}

// An output shaped like `like`, or null if the operator does not have it.
float* OptionalOutput(Operator<CUDAContext>* op, int i, const Tensor& like) {
  if (i >= op->OutputSize()) return nullptr;
  op->Output(i)->ResizeLike(like);
  return op->Output(i)->mutable_data<float>();
}

template <bool kUpdate>
class CudaMomentumSgdOp final : public Operator<CUDAContext> {
 public:
  CudaMomentumSgdOp(const OperatorDef& def, Workspace* ws)
      : Operator<CUDAContext>(def, ws),
        momentum_(GetSingleArgument<float>("momentum", 0.f)),
        nesterov_(GetSingleArgument<int>("nesterov", 0) != 0) {}

  bool RunOnDevice() override {
    const Tensor &grad = Input(0), &moment = Input(1);
    CheckOptimizerState(grad, moment, "momentum");
    if (kUpdate) CheckOptimizerState(Input(3), grad, "gradient");
    MomentumSgdStep u;
    u.lr = RateOf(Input<Tensor>(2));
    u.momentum = momentum_;
    u.nesterov = nesterov_;
    u.grad = grad.data<float>();
    u.moment = moment.data<float>();
    u.param = kUpdate ? Input(3).template data<float>() : nullptr;
    u.grad_out = OptionalOutput(this, 0, grad);
    u.moment_out = OptionalOutput(this, 1, moment);
    if (kUpdate) u.param_out = OptionalOutput(this, 2, Input(3));
    LaunchMomentumSgd(grad.numel(), u, context_.stream());
    return true;
  }

 private:
  float momentum_;
  bool nesterov_;
};

REGISTER_CUDA_OPERATOR(MomentumSGD, CudaMomentumSgdOp<false>);
REGISTER_CUDA_OPERATOR(MomentumSGDUpdate, CudaMomentumSgdOp<true>);

}  // namespace

template <>
bool AdamOp<CUDAContext>::RunOnDevice() {
  const Tensor &param = Input(PARAM), &moment1 = Input(MOMENT_1), &moment2 = Input(MOMENT_2),
               &grad = Input(GRAD);
  CheckOptimizerState(param, moment1, "moment_1");
  CheckOptimizerState(param, moment2, "moment_2");
  CheckOptimizerState(param, grad, "gradient");
  Tensor copy(CPU);
  const AdamFactors factors =
      MakeAdamFactors(arguments_, OnHost(Input<Tensor>(ITER), &copy), /*lr=*/0.f);
  AdamStep u;
  u.lr = RateOf(Input<Tensor>(LR));
  u.beta1 = arguments_.beta1;
  u.beta2 = arguments_.beta2;
  u.epsilon = arguments_.epsilon;
  u.correction = factors.correction;
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

REGISTER_CUDA_OPERATOR(Adam, AdamOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(Adagrad, AdagradOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(RmsProp, RmsPropOp<CUDAContext>);

}  // namespace caffe2
