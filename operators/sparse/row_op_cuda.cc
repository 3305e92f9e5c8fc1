// Optimizers of rows on CUDA devices.
#include "caffe2/core/device_backend.h"
#include "operators/common/optimizer_cuda.h"
#include "operators/optimizer/adagrad_op.h"
#include "operators/optimizer/adam_op.h"
#include "operators/optimizer/ftrl_op.h"
#include "operators/optimizer/masked_adagrad_op.h"
#include "operators/optimizer/momentum_sgd_op.h"
#include "operators/optimizer/row_wise_counter_op.h"
#include "operators/optimizer/smart_decay_sparse_adam_op.h"
#include "operators/optimizer/sparse_lp_regularizer_op.h"
#include "operators/optimizer/sparse_normalize_op.h"
#include "operators/optimizer/storm_op.h"
#include "operators/optimizer/wngrad_op.h"
#include "operators/sparse/indexed_rows_cuda.h"

namespace caffe2 {
namespace {

// What an optimizer of rows finds at its inputs; throws if shapes do not fit.
class RowOptimizerBase : public Operator<CUDAContext> {
 public:
  using Operator<CUDAContext>::Operator;
  bool RunOnDevice() override = 0;

 protected:
  // Elements of a row.
  static int64_t CheckGradient(const Tensor& param, const Tensor& indices, const Tensor& grad) {
    CAFFE_ENFORCE_GE(param.dim(), 1, "the parameter must have rows");
    ListOfIndices(indices, param.size(0));  // of the right type
    CAFFE_ENFORCE_EQ(grad.numel(), indices.numel() * param.size_from_dim(1), "gradient ",
                     ShapeString(grad.sizes()), " for ", indices.numel(), " rows of parameter ",
                     ShapeString(param.sizes()));
    return param.size_from_dim(1);
  }
  Rate LearningRate(int i) {
    return RateFor(OperatorBase::Input<Tensor>(i), "the learning rate", &context_);
  }
  // An output that is updated in place, and one that is not.
  float* State(int output) { return UpdatedData<float>(Output(output)); }
  float* Step(int output, const Tensor& grad) {
    Output(output)->ResizeLike(grad);
    return Output(output)->mutable_data<float>();
  }
};

template <bool kRowWise>
class CudaSparseAdagradOp final : public RowOptimizerBase {
 public:
  using RowOptimizerBase::RowOptimizerBase;
  bool RunOnDevice() override {
    return TensorTypes<float, float16>::Dispatch(this, Input(PARAM).dtype());
  }
  template <typename P>
  bool DoRunWithType() {
    const Tensor &param = Input(PARAM), &indices = Input(INDICES), &grad = Input(GRAD);
    const int64_t width = CheckGradient(param, indices, grad);
    CheckStateOfRows<kRowWise>(param, Input(MOMENT), "moment");
    const float epsilon = GetSingleArgument<float>("epsilon", 1e-5f),
                weight_decay = GetSingleArgument<float>("weight_decay", 0.f);
    const Rate lr = LearningRate(LR);
    const float* g = grad.data<float>();
    P* p = UpdatedData<P>(Output(0));
    if constexpr (kRowWise) {
      const double* counts = nullptr;
      if (InputSize() > COUNTER) {
        CheckRowWiseState(param, Input(COUNTER), "counter");
        counts = Input(COUNTER).template data<double>();
      }
      const auto halflife = static_cast<double>(GetSingleArgument<int64_t>("counter_halflife", -1));
      UpdateRows(
          indices, param.size(0),
          RowWiseAdagradRow<P>{width, epsilon, weight_decay, lr, g, counts, halflife, p, State(1)},
          &context_);
    } else {
      UpdateRows(indices, param.size(0),
                 AdagradRow<P>{width, epsilon, weight_decay, lr, g, p, State(1)}, &context_);
    }
    return true;
  }

 private:
  enum { PARAM, MOMENT, INDICES, GRAD, LR, COUNTER };
};

template <bool kRowWise>
class CudaSparseAdamOp final : public RowOptimizerBase {
 public:
  CudaSparseAdamOp(const OperatorDef& def, Workspace* ws)
      : RowOptimizerBase(def, ws), arguments_(*this) {}
  bool RunOnDevice() override {
    const Tensor &param = Input(PARAM), &indices = Input(INDICES), &grad = Input(GRAD);
    const int64_t width = CheckGradient(param, indices, grad);
    CheckOptimizerState(param, Input(MOMENT_1), "moment_1");
    CheckStateOfRows<kRowWise>(param, Input(MOMENT_2), "moment_2");
    Tensor copy(CPU);
    const Tensor& iter = OnHost(OperatorBase::Input<Tensor>(ITER), &copy);
    const AdamFactors factors = MakeAdamFactors(arguments_, iter, /*lr=*/0.f);
    const float* g = grad.data<float>();
    float* step = OutputSize() > 3 ? Step(3, grad) : nullptr;
    const auto& [beta1, beta2, epsilon] = arguments_;
    if constexpr (kRowWise) {
      UpdateRows(indices, param.size(0),
                 RowWiseAdamRow{width, beta1, beta2, epsilon, factors.correction, LearningRate(LR),
                                g, State(0), State(1), State(2), step},
                 &context_);
    } else {
      AdamRectification step_by{true, factors.correction};
      if (GetSingleArgument<bool>("enableRAdam", false)) {
        step_by = RectifyAdam(arguments_, *iter.data<int64_t>() + 1);
      }
      UpdateRows(indices, param.size(0),
                 AdamRow{width, beta1, beta2, epsilon, step_by.factor, step_by.tractable,
                         LearningRate(LR), g, State(0), State(1), State(2), step},
                 &context_);
    }
    return true;
  }

 private:
  enum { PARAM, MOMENT_1, MOMENT_2, INDICES, GRAD, LR, ITER };
  AdamArguments arguments_;
};

class CudaSparseMomentumSgdOp final : public RowOptimizerBase {
 public:
  CudaSparseMomentumSgdOp(const OperatorDef& def, Workspace* ws)
      : RowOptimizerBase(def, ws), factors_(*this) {}
  bool RunOnDevice() override {
    const Tensor &grad = Input(GRAD), &param = Input(PARAM), &indices = Input(INDICES);
    const int64_t width = CheckGradient(param, indices, grad);
    CheckOptimizerState(param, Input(MOMENTUM), "momentum");
    const float* g = grad.data<float>();
    UpdateRows(indices, param.size(0),
               MomentumRow{width, factors_.momentum, factors_.a, factors_.b, LearningRate(LR), g,
                           Step(0, grad), State(1), State(2)},
               &context_);
    return true;
  }

 private:
  enum { GRAD, MOMENTUM, LR, PARAM, INDICES };
  MomentumFactors factors_;
};

class CudaSparseFtrlOp final : public RowOptimizerBase {
 public:
  CudaSparseFtrlOp(const OperatorDef& def, Workspace* ws)
      : RowOptimizerBase(def, ws), arguments_(*this) {}
  bool RunOnDevice() override {
    const Tensor &var = Input(VAR), &n_z = Input(N_Z), &indices = Input(INDICES);
    const int64_t width = CheckGradient(var, indices, Input(GRAD));
    CAFFE_ENFORCE_EQ(n_z.numel(), 2 * var.numel(), "n_z ", ShapeString(n_z.sizes()), " for var ",
                     ShapeString(var.sizes()), ": two values an element are needed");
    UpdateRows(indices, var.size(0),
               FtrlRow{width, arguments_.rule, arguments_.AlphaOf(*this, ALPHA, &context_),
                       Input(GRAD).data<float>(), State(0), State(1)},
               &context_);
    return true;
  }

 private:
  enum { VAR, N_Z, INDICES, GRAD, ALPHA };
  FtrlArguments arguments_;
};

class CudaSparseAdadeltaOp final : public RowOptimizerBase {
 public:
  using RowOptimizerBase::RowOptimizerBase;
  bool RunOnDevice() override {
    const Tensor &param = Input(PARAM), &indices = Input(INDICES), &grad = Input(GRAD);
    const int64_t width = CheckGradient(param, indices, grad);
    CheckOptimizerState(param, Input(MOMENT), "moment");
    CheckOptimizerState(param, Input(DELTA), "moment_delta");
    UpdateRows(indices, param.size(0),
               AdadeltaRow{width, GetSingleArgument<float>("epsilon", 1e-5f),
                           GetSingleArgument<float>("decay", 0.95f), LearningRate(LR),
                           grad.data<float>(), State(0), State(1), State(2)},
               &context_);
    return true;
  }

 private:
  enum { PARAM, MOMENT, DELTA, INDICES, GRAD, LR };
};

template <bool kRowWise>
using CudaMaskedSparseAdagradOp = MaskedSparseAdagradOp<CUDAContext, kRowWise>;
using NormalizeFloat = SparseNormalizeOp<CUDAContext, float>;
using NormalizeFloat16 = SparseNormalizeOp<CUDAContext, float16>;

REGISTER_CUDA_OPERATOR(SparseAdagrad, CudaSparseAdagradOp<false>);
REGISTER_CUDA_OPERATOR(RowWiseSparseAdagrad, CudaSparseAdagradOp<true>);
REGISTER_CUDA_OPERATOR(SparseAdam, CudaSparseAdamOp<false>);
REGISTER_CUDA_OPERATOR(RowWiseSparseAdam, CudaSparseAdamOp<true>);
REGISTER_CUDA_OPERATOR(SparseMomentumSGDUpdate, CudaSparseMomentumSgdOp);
REGISTER_CUDA_OPERATOR(SparseFtrl, CudaSparseFtrlOp);
REGISTER_CUDA_OPERATOR(SparseAdadelta, CudaSparseAdadeltaOp);
REGISTER_CUDA_OPERATOR(SmartDecaySparseAdam, SmartDecaySparseAdamOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(SparseNormalize, NormalizeFloat);
REGISTER_CUDA_OPERATOR(Float16SparseNormalize, NormalizeFloat16);
REGISTER_CUDA_OPERATOR(SparseStorm, SparseStormOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(SparseWngrad, SparseWngradOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(MaskedAdagrad, MaskedAdagradOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(MaskedSparseAdagrad, CudaMaskedSparseAdagradOp<false>);
REGISTER_CUDA_OPERATOR(MaskedRowWiseSparseAdagrad, CudaMaskedSparseAdagradOp<true>);
REGISTER_CUDA_OPERATOR(SparseLpRegularizer, SparseLpRegularizerOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(EnsureClipped, EnsureClippedOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(RowWiseCounter, RowWiseCounterOp<CUDAContext>);

}  // namespace
}  // namespace caffe2
