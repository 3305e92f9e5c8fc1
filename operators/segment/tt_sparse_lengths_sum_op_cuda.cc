// TTSparseLengthsSum and its gradient on CUDA devices. They have kernels of their own, because the
// matrices are small.
#include "operators/common/checked_indices.h"
#include "operators/common/host_device_cuda.h"
#include "operators/segment/tt_sparse_lengths_sum_op.h"
#include "operators/sparse/indexed_rows_cuda.h"

namespace caffe2 {
namespace {

class CudaTtSparseLengthsSumOp final : public Operator<CUDAContext> {
 public:
  CudaTtSparseLengthsSumOp(const OperatorDef& def, Workspace* ws)
      : Operator<CUDAContext>(def, ws), arguments_(*this) {}

  bool RunOnDevice() override {
    const TensorTrainShape shape = ReadTensorTrainShape(*this);
    arguments_.Check(shape);
    const Tensor &indices = Input(3), &lengths = Input(4);
    const int64_t n = indices.numel(), segments = lengths.numel();
    const int64_t rows = CheckedNumel({shape.rows[0], shape.rows[1], shape.rows[2]});
    CAFFE_ENFORCE(n == 0 || rows > 0, n, " indices of cores without rows");
    lengths.data<int32_t>();  // of no other type
    const RowIndices index = CheckedIndices(indices, rows, &context_);
    Tensor storage(context_.device());
    const int64_t* offsets = SegmentOffsets(lengths, n, &storage, &context_);
    Output(0)->Resize(segments, shape.embedding());
    Output(1)->Resize(n, shape.width[0], shape.rank[1]);
    Output(2)->Resize(n, shape.outer(), shape.rank[2]);
    Output(3)->Resize(n, kTensorTrainCores);
    auto *first = Output(1)->mutable_data<float>(), *second = Output(2)->mutable_data<float>();
    auto* places = Output(3)->mutable_data<int64_t>();
    ForEachRow(n, shape.second(),
               TensorTrainRows{shape, index, Input(0).data<float>(), Input(1).data<float>(), places,
                               first, second},
               &context_);
    ForEachRow(segments, shape.embedding(),
               TensorTrainSums{shape, offsets, places, second, Input(2).data<float>(),
                               Output(0)->mutable_data<float>()},
               &context_);
    return true;
  }

 private:
  const TensorTrainArguments arguments_;
};

class CudaTtSparseLengthsSumGradientOp final : public Operator<CUDAContext> {
 public:
  using Operator<CUDAContext>::Operator;
  bool RunOnDevice() override {
    const TensorTrainShape shape = ReadTensorTrainShape(*this);
    const int64_t n = CheckTensorTrainGradient(*this, shape), segments = Input(3).numel();
    CAFFE_ENFORCE(n == 0 || segments > 0, n, " indices in no sum");
    Input(3).data<int32_t>();  // of no other type
    Tensor storage(context_.device()), segment(context_.device()), d_products(context_.device());
    const int64_t* offsets = SegmentOffsets(Input(3), n, &storage, &context_);
    segment.Resize(n);
    d_products.Resize(n, shape.second());
    // Wrong lengths may leave entries out. These count as entries of the first segment until the
    // wrong lengths are reported.
    ClearBytes(n * sizeof(int64_t), segment.mutable_data<int64_t>(), &context_);
    const auto* places = Input(6).data<int64_t>();
    const auto* dy = Input(7).data<float>();
    ForEachRow(
        segments, shape.second(),
        GradientOfProducts{shape, offsets, places, Input(2).data<float>(), dy,
                           segment.mutable_data<int64_t>(), d_products.mutable_data<float>()},
        &context_);
    for (int k = 0; k < kTensorTrainCores; ++k) {
      Tensor column(context_.device()), keys(context_.device());
      column.Resize(n);
      ForEach(n, TensorTrainPlaces{k, places, column.mutable_data<int64_t>()}, &context_);
      const SortedRows sorted = SortIndices(column, shape.rows[k], &keys, &context_);
      Output(k)->ResizeLike(Input(k));
      auto* gradient = Output(k)->mutable_data<float>();
      ClearBytes(Output(k)->nbytes(), gradient, &context_);
      ForEachRow(
          n, shape.slice(k),
          TensorTrainGradient{shape, k, sorted, places, segment.data<int64_t>(),
                              Input(4).data<float>(), Input(5).data<float>(),
                              Input(1).data<float>(), d_products.data<float>(), dy, gradient},
          &context_);
    }
    return true;
  }
};

REGISTER_CUDA_OPERATOR(TTSparseLengthsSum, CudaTtSparseLengthsSumOp);
REGISTER_CUDA_OPERATOR(TTSparseLengthsSumGradient, CudaTtSparseLengthsSumGradientOp);

}  // namespace
}  // namespace caffe2
