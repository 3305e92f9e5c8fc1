#include "caffe2/cuda/cudnn_operations.h"

#include <utility>

namespace caffe2::cuda {
namespace {

cudnnDataType_t DataType(TypeMeta type) {
  if (type.Match<float>()) return CUDNN_DATA_FLOAT;
  if (type.Match<float16>()) return CUDNN_DATA_HALF;
  CAFFE_ENFORCE(type.Match<bfloat16>(),
                "convolutions on CUDA devices need float, float16 or bfloat16, not ", type.name());
  return CUDNN_DATA_BFLOAT16;
}

// cuDNN needs at least two spatial axes: a problem with one gets a second of size `fill`.
std::vector<int64_t> WithTwoAxes(std::vector<int64_t> values, size_t before, int64_t fill) {
  if (values.size() == before + 1) values.insert(values.begin() + before, fill);
  return values;
}

// Strides of a dense array of these logical dimensions.
std::vector<int64_t> StridesOf(const std::vector<int64_t>& dims, bool channels_last) {
  std::vector<int64_t> strides(dims.size());
  int64_t stride = 1;
  if (channels_last) {
    strides[1] = 1;
    stride = dims[1];
  }
  for (size_t d = dims.size() - 1; d >= 2; --d) {
    strides[d] = stride;
    stride *= dims[d];
  }
  if (!channels_last) {
    strides[1] = stride;
    stride *= dims[1];
  }
  strides[0] = stride;
  return strides;
}

CudnnDescriptor ConvolutionOf(const ConvProblem& problem) {
  const std::vector<int64_t> stride = WithTwoAxes(problem.stride, 0, 1);
  CudnnDescriptor convolution(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, "convolution");
  convolution.Set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
      .Set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION)
      .Set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64,
           static_cast<int64_t>(stride.size()))
      .Set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, WithTwoAxes(problem.pad_begin, 0, 0))
      .Set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, WithTwoAxes(problem.pad_end, 0, 0))
      .Set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, stride)
      .Set(CUDNN_ATTR_CONVOLUTION_DILATIONS, WithTwoAxes(problem.dilation, 0, 1))
      .Finalize();
  return convolution;
}

// The descriptor type and the attributes of a direction's operation.
struct Names {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t x, filter, y, convolution, alpha, beta;
};
Names NamesOf(ConvDirection direction) {
  switch (direction) {
    case ConvDirection::kForward:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case ConvDirection::kBackwardData:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    default:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  }
}

}  // namespace

const char* NameOf(ConvDirection direction) {
  return direction == ConvDirection::kForward        ? "the convolution"
         : direction == ConvDirection::kBackwardData ? "the input gradient of the convolution"
                                                     : "the filter gradient of the convolution";
}

int64_t AlignmentOf(const std::vector<void*>& arrays, TypeMeta type) {
  for (const void* array : arrays) {
    if (reinterpret_cast<uintptr_t>(array) % kFullAlignment != 0) {
      return static_cast<int64_t>(type.itemsize());
    }
  }
  return kFullAlignment;
}

CudnnDescriptor* CudnnOperations::Own(CudnnDescriptor descriptor) {
  owned_.push_back(std::move(descriptor));
  return &owned_.back();
}

CudnnDescriptor* CudnnOperations::Operation(cudnnBackendDescriptorType_t type, const char* name) {
  CudnnDescriptor* operation = Own(CudnnDescriptor(type, name));
  operations_.push_back(operation);
  return operation;
}

CudnnOperations::Tensor CudnnOperations::Array(int64_t id, const std::vector<int64_t>& dims) {
  const std::vector<int64_t> full = WithTwoAxes(dims, 2, 1);
  return Own(CudnnTensor(id, DataType(problem_.type), full, StridesOf(full, problem_.channels_last),
                         alignment_));
}

CudnnOperations::Tensor CudnnOperations::Inside(const std::vector<int64_t>& dims) {
  const std::vector<int64_t> full = WithTwoAxes(dims, 2, 1);
  return Own(CudnnTensor(next_inside_++, CUDNN_DATA_FLOAT, full,
                         StridesOf(full, problem_.channels_last), kFullAlignment,
                         /*is_virtual=*/true));
}

CudnnOperations::Tensor CudnnOperations::Channels(int64_t id, int64_t channels,
                                                  cudnnDataType_t type) {
  std::vector<int64_t> dims(std::max<size_t>(4, problem_.x.size()), 1);
  dims[1] = channels;
  const int64_t element = type == CUDNN_DATA_FLOAT ? 4 : 2;
  return Own(CudnnTensor(id, type, dims, StridesOf(dims, true),
                         alignment_ < kFullAlignment ? element : kFullAlignment));
}

void CudnnOperations::Convolve(ConvDirection direction, Tensor x, Tensor filter, Tensor y,
                               bool add) {
  const CudnnDescriptor* convolution = Own(ConvolutionOf(problem_));
  const Names names = NamesOf(direction);
  Operation(names.type, NameOf(direction))
      ->Set(names.x, *x)
      .Set(names.filter, *filter)
      .Set(names.y, *y)
      .Set(names.convolution, *convolution)
      .Set(names.alpha, CUDNN_TYPE_FLOAT, 1.f)
      .Set(names.beta, CUDNN_TYPE_FLOAT, add ? 1.f : 0.f)
      .Finalize();
}

CudnnDescriptor* CudnnOperations::PointwiseOperation(cudnnPointwiseMode_t mode) {
  CudnnDescriptor* description =
      Own(CudnnDescriptor(CUDNN_BACKEND_POINTWISE_DESCRIPTOR, "pointwise function"));
  description->Set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode)
      .Set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
      .Finalize();
  CudnnDescriptor* operation =
      Operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, "pointwise operation");
  operation->Set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, *description);
  return operation;
}

void CudnnOperations::Pointwise(cudnnPointwiseMode_t mode, Tensor x, Tensor b, Tensor y) {
  CudnnDescriptor* operation = PointwiseOperation(mode);
  operation->Set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, *x);
  if (b != nullptr) operation->Set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
  operation->Set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, *y).Finalize();
}

void CudnnOperations::ReluGradient(Tensor dy, Tensor x, Tensor dx) {
  PointwiseOperation(CUDNN_POINTWISE_RELU_BWD)
      ->Set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, *x)
      .Set(CUDNN_ATTR_OPERATION_POINTWISE_DYDESC, *dy)
      .Set(CUDNN_ATTR_OPERATION_POINTWISE_DXDESC, *dx)
      .Finalize();
}

void CudnnOperations::ChannelSums(Tensor x, Tensor sums, Tensor square_sums) {
  Operation(CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR, "sums of channels")
      ->Set(CUDNN_ATTR_OPERATION_GENSTATS_MODE, CUDNN_TYPE_GENSTATS_MODE, CUDNN_GENSTATS_SUM_SQSUM)
      .Set(CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
      .Set(CUDNN_ATTR_OPERATION_GENSTATS_XDESC, *x)
      .Set(CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, *sums)
      .Set(CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, *square_sums)
      .Finalize();
}

void CudnnOperations::NormGradientSums(const NormGradient& norm) {
  Operation(CUDNN_BACKEND_OPERATION_BN_BWD_WEIGHTS_DESCRIPTOR, "sums of the norm's gradient")
      ->Set(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
      .Set(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_X_DESC, *norm.x)
      .Set(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_MEAN_DESC, *norm.mean)
      .Set(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_INVSTD_DESC, *norm.inverse_std)
      .Set(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_BN_SCALE_DESC, *norm.scale)
      .Set(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DY_DESC, *norm.dy)
      .Set(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_SCALE_DESC, *norm.dscale)
      .Set(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_BIAS_DESC, *norm.dbias)
      .Set(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_DY_SCALE_DESC, *norm.factor_dy)
      .Set(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_X_SCALE_DESC, *norm.factor_x)
      .Set(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_BIAS, *norm.constant)
      .Finalize();
}

CudnnDescriptor CudnnOperations::Graph(const CudnnTarget& target) const {
  return CudnnGraph(operations_, target);
}

}  // namespace caffe2::cuda
