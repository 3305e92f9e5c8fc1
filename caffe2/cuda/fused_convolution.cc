#include "caffe2/cuda/fused_convolution.h"

#include "caffe2/cuda/cudnn_operations.h"
#include "caffe2/cuda/cudnn_work.h"
#include "caffe2/cuda/matmul.h"

namespace caffe2::cuda {
namespace {

// Ids of the arrays.
enum Id : int64_t {
  kX = 1,
  kFilter,
  kY,
  kFactor,
  kShift,
  kSums,
  kSquareSums,
  kMean,
  kInverseStd,
  kScale,
  kBias,
  kG,
  kDScale,
  kDBias,
  kFactorDy,
  kFactorX,
  kConstant,
  kZ,
  kOutputBias,
};

using Tensor = CudnnOperations::Tensor;

cudnnDataType_t TypeOf(const ConvProblem& problem) {
  return problem.type.Match<float16>()    ? CUDNN_DATA_HALF
         : problem.type.Match<bfloat16>() ? CUDNN_DATA_BFLOAT16
                                          : CUDNN_DATA_FLOAT;
}

bool Sums(FusedConvolution form) {
  return form == FusedConvolution::kSumBias || form == FusedConvolution::kSumBiasRelu;
}
bool Clips(FusedConvolution form) {
  return form == FusedConvolution::kBiasRelu || form == FusedConvolution::kSumBiasRelu;
}

void AddBias(FusedConvolution form, const ConvProblem& problem, CudnnOperations* operations) {
  const auto inside = [&] { return operations->Inside(problem.y); };
  Tensor value = inside();
  operations->Convolve(ConvDirection::kForward, operations->Array(kX, problem.x),
                       operations->Array(kFilter, problem.filter), value);
  const auto apply = [&](cudnnPointwiseMode_t mode, Tensor b, Tensor to) {
    operations->Pointwise(mode, value, b, to);
    value = to;
  };
  const Tensor y = operations->Array(kY, problem.y);
  if (Sums(form)) apply(CUDNN_POINTWISE_ADD, operations->Array(kZ, problem.y), inside());
  apply(CUDNN_POINTWISE_ADD, operations->Channels(kOutputBias, problem.y[1], TypeOf(problem)),
        Clips(form) ? inside() : y);
  if (Clips(form)) apply(CUDNN_POINTWISE_RELU_FWD, nullptr, y);
}

// relu(x * factor + shift)
Tensor AddNorm(const ConvProblem& problem, Tensor x, CudnnOperations* operations) {
  const int64_t channels = problem.x[1];
  const Tensor scaled = operations->Inside(problem.x), shifted = operations->Inside(problem.x),
               open = operations->Inside(problem.x);
  operations->Pointwise(CUDNN_POINTWISE_MUL, x,
                        operations->Channels(kFactor, channels, TypeOf(problem)), scaled);
  operations->Pointwise(CUDNN_POINTWISE_ADD, scaled,
                        operations->Channels(kShift, channels, TypeOf(problem)), shifted);
  operations->Pointwise(CUDNN_POINTWISE_RELU_FWD, shifted, nullptr, open);
  return open;
}

void AddStats(const ConvProblem& problem, bool normed, CudnnOperations* operations) {
  const int64_t channels = problem.y[1];
  Tensor x = operations->Array(kX, problem.x);
  if (normed) x = AddNorm(problem, x, operations);
  const Tensor y = operations->Array(kY, problem.y);
  operations->Convolve(ConvDirection::kForward, x, operations->Array(kFilter, problem.filter), y);
  operations->ChannelSums(y, operations->Channels(kSums, channels, CUDNN_DATA_FLOAT),
                          operations->Channels(kSquareSums, channels, CUDNN_DATA_FLOAT));
}

void AddBackwardFilter(const ConvProblem& problem, CudnnOperations* operations) {
  const Tensor x = AddNorm(problem, operations->Array(kX, problem.x), operations);
  operations->Convolve(ConvDirection::kBackwardFilter, x,
                       operations->Array(kFilter, problem.filter),
                       operations->Array(kY, problem.y));
}

// The Relu's input is computed again: (x - mean) * inverse_std * scale + bias.
void AddBackwardData(const ConvProblem& problem, CudnnOperations* operations) {
  const auto channels = [&](Id id) {
    return operations->Channels(id, problem.x[1], CUDNN_DATA_FLOAT);
  };
  const auto inside = [&] { return operations->Inside(problem.x); };
  CudnnOperations::NormGradient norm{};
  norm.x = operations->Array(kX, problem.x);
  norm.mean = channels(kMean);
  norm.inverse_std = channels(kInverseStd);
  norm.scale = channels(kScale);
  norm.dy = operations->Array(kG, problem.x);
  norm.dscale = channels(kDScale);
  norm.dbias = channels(kDBias);
  norm.factor_dy = channels(kFactorDy);
  norm.factor_x = channels(kFactorX);
  norm.constant = channels(kConstant);

  const Tensor dx = inside(), centered = inside(), unit = inside(), scaled = inside(),
               shifted = inside();
  operations->Convolve(ConvDirection::kBackwardData, dx, operations->Array(kFilter, problem.filter),
                       operations->Array(kY, problem.y));
  operations->Pointwise(CUDNN_POINTWISE_SUB, norm.x, norm.mean, centered);
  operations->Pointwise(CUDNN_POINTWISE_MUL, centered, norm.inverse_std, unit);
  operations->Pointwise(CUDNN_POINTWISE_MUL, unit, norm.scale, scaled);
  operations->Pointwise(CUDNN_POINTWISE_ADD, scaled, channels(kBias), shifted);
  operations->ReluGradient(dx, shifted, norm.dy);
  operations->NormGradientSums(norm);
}

void Build(FusedConvolution form, const ConvProblem& problem, CudnnOperations* operations) {
  switch (form) {
    case FusedConvolution::kStats:
      return AddStats(problem, false, operations);
    case FusedConvolution::kNormedStats:
      return AddStats(problem, true, operations);
    case FusedConvolution::kNormedBackwardFilter:
      return AddBackwardFilter(problem, operations);
    case FusedConvolution::kNormedBackwardData:
      return AddBackwardData(problem, operations);
    default:
      return AddBias(form, problem, operations);
  }
}

const char* NameOf(FusedConvolution form) {
  switch (form) {
    case FusedConvolution::kStats:
      return "the convolution with sums of channels";
    case FusedConvolution::kNormedStats:
      return "the normed convolution with sums of channels";
    case FusedConvolution::kNormedBackwardFilter:
      return "the filter gradient of the normed convolution";
    case FusedConvolution::kNormedBackwardData:
      return "the input gradient of the normed convolution";
    case FusedConvolution::kBias:
      return "the convolution with bias";
    case FusedConvolution::kBiasRelu:
      return "the convolution with bias and Relu";
    case FusedConvolution::kSumBias:
      return "the convolution with sum and bias";
    default:
      return "the convolution with sum, bias and Relu";
  }
}

CudnnWork WorkOf(FusedConvolution form, const ConvProblem& problem, int64_t alignment) {
  CudnnWork work;
  work.key = MakeString(NameOf(form), " ", problem.ToString(), " aligned to ", alignment);
  work.graph = [=](const CudnnTarget& target) {
    CudnnOperations operations(problem, alignment);
    Build(form, problem, &operations);
    return operations.Graph(target);
  };
  work.rules.tensor_cores = !problem.type.Match<float>() || AllowTf32();
  return work;
}

class Arrays {
 public:
  Arrays& Add(Id id, const void* data) {
    arrays_.ids.push_back(id);
    arrays_.data.push_back(const_cast<void*>(data));
    return *this;
  }
  bool Run(FusedConvolution form, const ConvProblem& problem, int device, Stream stream) const {
    return TryCudnnWork(WorkOf(form, problem, AlignmentOf(arrays_.data, problem.type)), arrays_,
                        device, stream);
  }

 private:
  CudnnArrays arrays_;
};

}  // namespace

bool ConvolveWithBias(const ConvProblem& problem, const void* x, const void* filter,
                      const void* bias, const void* z, bool relu, void* y, int device,
                      Stream stream) {
  Arrays arrays;
  arrays.Add(kX, x).Add(kFilter, filter).Add(kOutputBias, bias).Add(kY, y);
  if (z != nullptr) arrays.Add(kZ, z);
  const FusedConvolution form =
      z != nullptr ? (relu ? FusedConvolution::kSumBiasRelu : FusedConvolution::kSumBias)
                   : (relu ? FusedConvolution::kBiasRelu : FusedConvolution::kBias);
  return arrays.Run(form, problem, device, stream);
}

bool ConvolveWithStats(const ConvProblem& problem, const NormedInput* norm, const void* x,
                       const void* filter, void* y, float* sums, float* square_sums, int device,
                       Stream stream) {
  Arrays arrays;
  arrays.Add(kX, x).Add(kFilter, filter).Add(kY, y).Add(kSums, sums).Add(kSquareSums, square_sums);
  if (norm != nullptr) arrays.Add(kFactor, norm->factor).Add(kShift, norm->shift);
  return arrays.Run(norm ? FusedConvolution::kNormedStats : FusedConvolution::kStats, problem,
                    device, stream);
}

bool ConvolveNormedBackwardFilter(const ConvProblem& problem, const NormedInput& norm,
                                  const void* x, const void* dy, void* dfilter, int device,
                                  Stream stream) {
  return Arrays()
      .Add(kX, x)
      .Add(kFactor, norm.factor)
      .Add(kShift, norm.shift)
      .Add(kY, dy)
      .Add(kFilter, dfilter)
      .Run(FusedConvolution::kNormedBackwardFilter, problem, device, stream);
}

bool ConvolveNormedBackwardData(const ConvProblem& problem, const NormedInput& norm, const void* x,
                                const void* filter, const void* dy, const NormedInputGradient& to,
                                int device, Stream stream) {
  const int64_t channels = problem.x[1];
  return Arrays()
      .Add(kX, x)
      .Add(kFilter, filter)
      .Add(kY, dy)
      .Add(kMean, norm.mean)
      .Add(kInverseStd, norm.inverse_std)
      .Add(kScale, norm.scale)
      .Add(kBias, norm.bias)
      .Add(kG, to.g)
      .Add(kDScale, to.dscale)
      .Add(kDBias, to.dbias)
      .Add(kFactorDy, to.scratch)
      .Add(kFactorX, to.scratch + channels)
      .Add(kConstant, to.scratch + 2 * channels)
      .Run(FusedConvolution::kNormedBackwardData, problem, device, stream);
}

ConvPlanDescription PlanFusedConvolution(FusedConvolution form, const ConvProblem& problem,
                                         const std::string& device_json, int most) {
  return DescribeCudnnWork(WorkOf(form, problem, kFullAlignment), device_json, most);
}

}  // namespace caffe2::cuda
