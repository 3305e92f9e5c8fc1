// ScatterAssign on CUDA devices.
#include "operators/sparse/indexed_rows_cuda.h"

namespace caffe2 {
namespace {

class CudaScatterAssignOp final : public Operator<CUDAContext> {
 public:
  using Operator<CUDAContext>::Operator;
  bool RunOnDevice() override {
    const Tensor &data = Input(0), &indices = Input(1), &slices = Input(2);
    CAFFE_ENFORCE(data.dim() >= 1, "DATA must have at least one axis, found a scalar");
    CAFFE_ENFORCE(data.dtype() == slices.dtype() && data.has_data() && slices.has_data(), "DATA ",
                  data.DebugString(), " and SLICES ", slices.DebugString(),
                  " must have one element type");
    const int64_t rows = data.size(0), width = data.size_from_dim(1);
    CAFFE_ENFORCE(slices.numel() == indices.numel() * width, "SLICES must hold ", indices.numel(),
                  " rows of ", width, " elements, found shape ", ShapeString(slices.sizes()));
    const auto bytes = width * static_cast<int64_t>(data.dtype().itemsize());
    const void* from = slices.raw_data();
    void* to = Output(0)->raw_mutable_data(data.dtype());
    WithWordOfRows(from, to, bytes, [&](auto word) {
      using Word = decltype(word);
      const auto words = bytes / static_cast<int64_t>(sizeof(Word));
      UpdateRows(indices, rows,
                 AssignRow<Word>{words, static_cast<const Word*>(from), static_cast<Word*>(to)},
                 &context_);
    });
    return true;
  }
};

REGISTER_CUDA_OPERATOR(ScatterAssign, CudaScatterAssignOp);

}  // namespace
}  // namespace caffe2
