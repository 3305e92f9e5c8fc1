// Transpose, NCHW2NHWC and NHWC2NCHW on CUDA devices, and Concat and Split.
#include <numeric>

#include "caffe2/cuda/context_cuda.h"
#include "operators/concat_split.h"
#include "operators/conv_pool_shape.h"
#include "operators/transpose.h"
#include "operators/transpose_kernels.h"

namespace caffe2 {

// Runs of a slab in one copy.
template <>
void CopySlab(TypeMeta meta, int64_t outer, int64_t run, const void* source, int64_t source_stride,
              void* destination, int64_t destination_stride, CUDAContext* context) {
  CAFFE_ENFORCE(meta.copy() == nullptr, "elements of type ", meta.name(),
                " exist in host memory only");
  if (outer == 0 || run == 0) return;
  const size_t size = meta.itemsize();
  cuda::CopyRowsAsync(destination, destination_stride * size, source, source_stride * size,
                      run * size, outer, context->stream());
}

namespace {

class CudaTransposeOp final : public Operator<CUDAContext> {
 public:
  CudaTransposeOp(const OperatorDef& def, Workspace* ws)
      : Operator<CUDAContext>(def, ws), axes_(GetRepeatedArgument<int>("axes")) {}

  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.has_data() && X.dtype().copy() == nullptr, "cannot transpose ",
                  X.DebugString());
    std::vector<int> axes = axes_;
    if (axes.empty()) {
      axes.resize(X.dim());
      std::iota(axes.rbegin(), axes.rend(), 0);
    }
    CheckAxes(axes, X.dim());
    CAFFE_ENFORCE_LE(X.dim(), Permutation::kMaxDims, "too many dimensions to transpose");
    Permutation permutation;
    std::vector<int64_t> dims;
    for (const int axis : axes) {
      dims.push_back(X.size(axis));
      permutation.size[permutation.dims] = X.size(axis);
      permutation.stride[permutation.dims++] = X.size_from_dim(axis + 1);
    }
    Tensor* Y = Output(0);
    Y->Resize(dims);
    void* y = Y->raw_mutable_data(X.dtype());
    if (X.numel() == 0) return true;
    // The last two dimensions swapped: the common case, and the fast one.
    bool matrices = X.dim() >= 2;
    for (int i = 0; i + 2 < X.dim(); ++i) matrices = matrices && axes[i] == i;
    if (matrices && axes.back() == X.dim() - 2) {
      const int64_t rows = X.size(-2), columns = X.size(-1);
      LaunchTransposeMatrices(X.numel() / (rows * columns), rows, columns, X.itemsize(),
                              X.raw_data(), y, context_.stream());
    } else {
      LaunchPermute(permutation, X.numel(), X.itemsize(), X.raw_data(), y, context_.stream());
    }
    return true;
  }

 private:
  std::vector<int> axes_;
};

template <StorageOrder kFrom>
class CudaOrderSwitchOp final : public Operator<CUDAContext> {
 public:
  using Operator<CUDAContext>::Operator;

  bool RunOnDevice() override {
    const Tensor& x = Input(0);
    CAFFE_ENFORCE(x.has_data() && x.dtype().copy() == nullptr, "cannot reorder ", x.DebugString());
    const ImageShape image = ImageShape::FromDims(x.sizes(), kFrom);
    Tensor* y = Output(0);
    constexpr bool kChannelsFirst = kFrom == StorageOrder::kNCHW;
    y->Resize(image.ToDims(kChannelsFirst ? StorageOrder::kNHWC : StorageOrder::kNCHW));
    void* to = y->raw_mutable_data(x.dtype());
    const int64_t spatial = image.SpatialSize();
    LaunchTransposeMatrices(image.batch, kChannelsFirst ? image.channels : spatial,
                            kChannelsFirst ? spatial : image.channels, x.itemsize(), x.raw_data(),
                            to, context_.stream());
    return true;
  }
};
using NCHW2NHWC = CudaOrderSwitchOp<StorageOrder::kNCHW>;
using NHWC2NCHW = CudaOrderSwitchOp<StorageOrder::kNHWC>;

REGISTER_CUDA_OPERATOR(Transpose, CudaTransposeOp);
REGISTER_CUDA_OPERATOR(NCHW2NHWC, NCHW2NHWC);
REGISTER_CUDA_OPERATOR(NHWC2NCHW, NHWC2NCHW);
REGISTER_CUDA_OPERATOR(Concat, ConcatOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(DepthConcat, ConcatOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(Split, SplitOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(DepthSplit, SplitOp<CUDAContext>);

}  // namespace
}  // namespace caffe2
