// Sum and WeightedSum on CUDA devices.
#include "caffe2/cuda/context_cuda.h"
#include "operators/copy_elements.h"
#include "operators/element_type.h"
#include "operators/elementwise_kernels.h"

namespace caffe2 {
namespace {

class CudaSumOp final : public Operator<CUDAContext> {
 public:
  using Operator<CUDAContext>::Operator;

  bool RunOnDevice() override {
    const Tensor& first = Input(0);
    for (int i = 1; i < InputSize(); ++i) {
      CAFFE_ENFORCE(Input(i).sizes() == first.sizes(), "inputs of different shapes: input 0 is ",
                    ShapeString(first.sizes()), ", input ", i, " is ",
                    ShapeString(Input(i).sizes()));
    }
    if (InputSize() == 1) {
      CopyTensor(first, Output(0), &context_);
      return true;
    }
    return NumericTypes::Dispatch(this, first.dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& first = Input(0);
    Terms terms;
    terms.x[terms.count++] = first.data<T>();
    Tensor* Y = Output(0);
    Y->ResizeLike(first);
    T* y = Y->mutable_data<T>();
    for (int i = 1; i < InputSize(); ++i) {
      terms.x[terms.count++] = Input(i).data<T>();
      if (terms.count < kMostTerms && i + 1 < InputSize()) continue;
      LaunchSum(first.numel(), terms, y, context_.stream());
      terms.count = 0;
      terms.x[terms.count++] = y;
    }
    return true;
  }
};

void AddTerm(const void* x, const Tensor& weight, Terms* terms) {
  const CudaScalar scalar = ReadScalar(weight, "a weight");
  terms->x[terms->count] = x;
  terms->weight[terms->count] = scalar.value;
  terms->weight_address[terms->count] = scalar.address;
  ++terms->count;
}

class CudaWeightedSumOp final : public Operator<CUDAContext> {
 public:
  using Operator<CUDAContext>::Operator;

  bool RunOnDevice() override {
    return TensorTypes<float, float16, bfloat16>::Dispatch(this, Input(0).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& first = Input(0);
    CAFFE_ENFORCE_LE(InputSize() / 2, kMostTerms, "too many terms for one WeightedSum");
    Terms terms;
    for (int k = 0; k < InputSize(); k += 2) {
      CAFFE_ENFORCE_EQ(Input(k).numel(), first.numel(), "inputs of different sizes: input 0 is ",
                       ShapeString(first.sizes()), ", input ", k, " is ",
                       ShapeString(Input(k).sizes()));
      AddTerm(Input(k).data<T>(), Input<Tensor>(k + 1), &terms);
    }
    Tensor* Y = Output(0);
    Y->ResizeLike(first);
    LaunchWeightedSum(first.numel(), terms, Y->mutable_data<T>(), context_.stream());
    return true;
  }
};

REGISTER_CUDA_OPERATOR(Sum, CudaSumOp);
REGISTER_CUDA_OPERATOR(WeightedSum, CudaWeightedSumOp);

}  // namespace
}  // namespace caffe2
