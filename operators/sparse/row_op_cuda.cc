// Gather, SparseToDense, ScatterWeightedSum and the optimizers of rows on CUDA devices.
#include "caffe2/core/device_backend.h"
#include "operators/common/checked_indices.h"
#include "operators/common/optimizer_cuda.h"
#include "operators/common/portable_cuda.h"
#include "operators/common/sort_indices_cuda.h"
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
#include "operators/sparse/copy_rows_to_tensor_op.h"
#include "operators/sparse/gather_op.h"
#include "operators/sparse/row_kernels.h"

namespace caffe2 {
namespace {

RowIndices IndicesOf(const Tensor& indices, int64_t rows, int64_t group = 0) {
  CAFFE_ENFORCE(indices.IsType<int32_t>() || indices.IsType<int64_t>(),
                "indices must be int32 or int64, not ", indices.dtype().name());
  return {indices.raw_data(), indices.IsType<int64_t>(), indices.numel(), rows, group};
}

// Indices of `layout`, where each element of the outer axes may have its own.
RowIndices IndicesOf(const Tensor& indices, const RowLayout& layout) {
  const bool grouped = layout.match_outer && layout.outer > 0;
  return IndicesOf(indices, layout.rows, grouped ? indices.numel() / layout.outer : 0);
}

// Holds its keys in `storage`; there are `rows` of all matrices.
SortedRows SortRows(const RowIndices& indices, int64_t rows, Tensor* storage,
                    CUDAContext* context) {
  const int64_t n = indices.n;
  constexpr auto kMost = static_cast<int64_t>(SortedRows::kNoRow);
  CAFFE_ENFORCE(n < kMost && rows <= kMost, n, " indices of ", rows, " rows are too many");
  storage->Resize(SortedKeysSize(n));
  auto* keys = reinterpret_cast<uint64_t*>(storage->mutable_data<int64_t>());
  LaunchSortRows(indices, keys, context->report(), context->stream());
  return {n, keys};
}

}  // namespace

template <>
void GatherRows(const Tensor& indices, const RowLayout& layout, TypeMeta meta, const void* x,
                void* y, CUDAContext* context) {
  CAFFE_ENFORCE(meta.copy() == nullptr, "elements of type ", meta.name(),
                " exist in host memory only");
  LaunchGatherRows(IndicesOf(indices, layout), layout.outer,
                   layout.width * static_cast<int64_t>(meta.itemsize()), x, y, context->report(),
                   context->stream());
}

// Rows, of which each has so many bytes, can be copied by 32 bits.
static bool IsInWords(const void* from, const void* to, int64_t row_bytes) {
  const auto places = reinterpret_cast<uintptr_t>(from) | reinterpret_cast<uintptr_t>(to);
  return (places | static_cast<uintptr_t>(row_bytes)) % sizeof(uint32_t) == 0;
}

static void AssignToRows(const Tensor& indices, int64_t rows, TypeMeta meta, int64_t width,
                         const void* x, void* y, CUDAContext* context) {
  CAFFE_ENFORCE(meta.copy() == nullptr, "elements of type ", meta.name(),
                " exist in host memory only");
  const auto bytes = width * static_cast<int64_t>(meta.itemsize());
  const RowIndices list = CheckedIndices(indices, rows, context);
  const auto set = [&](auto word) {
    using Word = decltype(word);
    const auto words = bytes / static_cast<int64_t>(sizeof(Word));
    ForEachRow(list.n, words,
               SetRows<Word>{list, words, static_cast<const Word*>(x), static_cast<Word*>(y)},
               context);
  };
  if (IsInWords(x, y, bytes)) {
    set(uint32_t{});
  } else {
    set(uint8_t{});
  }
}
SortedRows SortIndices(const Tensor& indices, int64_t rows, Tensor* storage, CUDAContext* context) {
  return SortRows(IndicesOf(indices, rows), rows, storage, context);
}

template <typename T>
void SumRows(const Tensor& indices, const RowLayout& layout, const T* x, T* y,
             CUDAContext* context) {
  if (indices.numel() == 0) return;
  Tensor storage(context->device());
  const RowIndices list = IndicesOf(indices, layout);
  // Matrices with indices of their own are one of all their rows.
  const int64_t outer = list.group > 0 ? 1 : layout.outer;
  const int64_t rows = layout.rows * (list.group > 0 ? layout.outer : 1);
  const SortedRows sorted = SortRows(list, rows, &storage, context);
  ForEachRow(sorted.n, outer * layout.width,
             SumSortedRows<T>{sorted, outer, rows, layout.width, x, y}, context);
}

template <class Rule>
void UpdateRows(const Tensor& indices, int64_t rows, const Rule& rule, CUDAContext* context) {
  if (indices.numel() == 0) return;
  Tensor storage(context->device());
  const SortedRows sorted = SortRows(IndicesOf(indices, rows), rows, &storage, context);
  ForEachRow(sorted.n, rule.width, UpdateSortedRows<Rule>{sorted, rule}, context);
}

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
    IndicesOf(indices, param.size(0));  // of the right type
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

// As on the host (scatter_assign_op.cc).
class CudaScatterAssignOp final : public Operator<CUDAContext> {
 public:
  using Operator<CUDAContext>::Operator;
  bool RunOnDevice() override {
    const Tensor &data = Input(0), &indices = Input(1), &slices = Input(2);
    CAFFE_ENFORCE_GE(data.dim(), 1, "DATA must have rows");
    CAFFE_ENFORCE(data.dtype() == slices.dtype() && data.has_data() && slices.has_data(), "DATA ",
                  data.DebugString(), " and SLICES ", slices.DebugString(),
                  " must have one element type");
    const int64_t rows = data.size(0), width = data.size_from_dim(1);
    CAFFE_ENFORCE_EQ(slices.numel(), indices.numel() * width, "SLICES ",
                     ShapeString(slices.sizes()), " must hold ", indices.numel(), " rows of ",
                     width);
    const auto bytes = width * static_cast<int64_t>(data.dtype().itemsize());
    const void* from = slices.raw_data();
    void* to = Output(0)->raw_mutable_data(data.dtype());
    if (IsInWords(from, to, bytes)) {
      Assign<uint32_t>(indices, rows, bytes, from, to);
    } else {
      Assign<uint8_t>(indices, rows, bytes, from, to);
    }
    return true;
  }

 private:
  template <typename Word>
  void Assign(const Tensor& indices, int64_t rows, int64_t row_bytes, const void* from, void* to) {
    const auto words = row_bytes / static_cast<int64_t>(sizeof(Word));
    UpdateRows(indices, rows,
               AssignRow<Word>{words, static_cast<const Word*>(from), static_cast<Word*>(to)},
               &context_);
  }
};

template <bool kRowWise>
using CudaMaskedSparseAdagradOp = MaskedSparseAdagradOp<CUDAContext, kRowWise>;
using NormalizeFloat = SparseNormalizeOp<CUDAContext, float>;
using NormalizeFloat16 = SparseNormalizeOp<CUDAContext, float16>;
using Gather = GatherOp<CUDAContext, 0>;
using BatchGather = GatherOp<CUDAContext, 1>;

REGISTER_CUDA_OPERATOR(Gather, Gather);
REGISTER_CUDA_OPERATOR(BatchGather, BatchGather);
REGISTER_CUDA_OPERATOR(CopyRowsToTensor, CopyRowsToTensorOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(CopyRowsToTensorGradient, CopyRowsToTensorGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(BatchGatherGradient, BatchGatherGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(SparseToDense, SparseToDenseOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(EnsureDense, CopyOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(ScatterWeightedSum, ScatterWeightedSumOp<CUDAContext>);
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
REGISTER_CUDA_OPERATOR(ScatterAssign, CudaScatterAssignOp);
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
