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
  kNormed,
  kAlso,
};

// The id, for this image, of the array that has `id` for x.
Id Of(Id image, Id id) {
  constexpr int64_t kForZ = 1 << 8;
  return image == kZ ? static_cast<Id>(id + kForZ) : id;
}

using Tensor = CudnnOperations::Tensor;

cudnnDataType_t TypeOf(const ConvProblem& problem) {
  return problem.type.Match<float16>()    ? CUDNN_DATA_HALF
         : problem.type.Match<bfloat16>() ? CUDNN_DATA_BFLOAT16
                                          : CUDNN_DATA_FLOAT;
}

bool AddsZ(FusedConvolution variant) {
  return variant == FusedConvolution::kSumBias || variant == FusedConvolution::kSumBiasRelu;
}
// What z adds to the normalized x.
enum class Residual { kNone, kPlain, kNormed };
Residual ResidualOf(FusedConvolution variant) {
  switch (variant) {
    case FusedConvolution::kNormedSumStats:
    case FusedConvolution::kNormedSumBackwardData:
      return Residual::kPlain;
    case FusedConvolution::kNormedPairStats:
    case FusedConvolution::kNormedPairBackwardData:
      return Residual::kNormed;
    default:
      return Residual::kNone;
  }
}
bool AppliesRelu(FusedConvolution variant) {
  return variant == FusedConvolution::kBiasRelu || variant == FusedConvolution::kSumBiasRelu;
}

void AddBias(FusedConvolution variant, const ConvProblem& problem, CudnnOperations* operations) {
  const auto inside = [&] { return operations->Inside(problem.y); };
  Tensor value = inside();
  operations->Convolve(ConvDirection::kForward, operations->Array(kX, problem.x),
                       operations->Array(kFilter, problem.filter), value);
  const auto apply = [&](cudnnPointwiseMode_t mode, Tensor b, Tensor to) {
    operations->Pointwise(mode, value, b, to);
    value = to;
  };
  const Tensor y = operations->Array(kY, problem.y);
  if (AddsZ(variant)) apply(CUDNN_POINTWISE_ADD, operations->Array(kZ, problem.y), inside());
  apply(CUDNN_POINTWISE_ADD, operations->Channels(kOutputBias, problem.y[1], TypeOf(problem)),
        AppliesRelu(variant) ? inside() : y);
  if (AppliesRelu(variant)) apply(CUDNN_POINTWISE_RELU_FWD, nullptr, y);
}

Tensor SumOf(Tensor a, Tensor b, const ConvProblem& problem, CudnnOperations* operations) {
  const Tensor sum = operations->Inside(problem.x);
  operations->Pointwise(CUDNN_POINTWISE_ADD, a, b, sum);
  return sum;
}

// image * factor + shift
Tensor AddNormalized(const ConvProblem& problem, Id image, CudnnOperations* operations) {
  const auto channels = [&](Id id) {
    return operations->Channels(Of(image, id), problem.x[1], TypeOf(problem));
  };
  const Tensor x = operations->Array(image, problem.x);
  const Tensor scaled = operations->Inside(problem.x);
  operations->Pointwise(CUDNN_POINTWISE_MUL, x, channels(kFactor), scaled);
  return SumOf(scaled, channels(kShift), problem, operations);
}

// relu of the normalized x, or, with a residual, of the sum of both, which is written to memory.
Tensor AddNorm(const ConvProblem& problem, Residual residual, CudnnOperations* operations) {
  Tensor value = AddNormalized(problem, kX, operations);
  const bool with_z = residual != Residual::kNone;
  if (with_z) {
    const Tensor z = residual == Residual::kNormed ? AddNormalized(problem, kZ, operations)
                                                   : operations->Array(kZ, problem.x);
    value = SumOf(value, z, problem, operations);
  }
  const Tensor open =
      with_z ? operations->Array(kNormed, problem.x) : operations->Inside(problem.x);
  operations->Pointwise(CUDNN_POINTWISE_RELU_FWD, value, nullptr, open);
  return open;
}

void AddStats(FusedConvolution variant, const ConvProblem& problem, CudnnOperations* operations) {
  const int64_t channels = problem.y[1];
  const Tensor x = variant == FusedConvolution::kStats
                       ? operations->Array(kX, problem.x)
                       : AddNorm(problem, ResidualOf(variant), operations);
  const Tensor y = operations->Array(kY, problem.y);
  operations->Convolve(ConvDirection::kForward, x, operations->Array(kFilter, problem.filter), y);
  operations->ChannelSums(y, operations->Channels(kSums, channels, CUDNN_DATA_FLOAT),
                          operations->Channels(kSquareSums, channels, CUDNN_DATA_FLOAT));
}

void AddBackwardFilter(const ConvProblem& problem, CudnnOperations* operations) {
  const Tensor x = AddNorm(problem, Residual::kNone, operations);
  operations->Convolve(ConvDirection::kBackwardFilter, x,
                       operations->Array(kFilter, problem.filter),
                       operations->Array(kY, problem.y));
}

// Recomputes a normalized image, (image - mean) * inverse_std * scale + bias, and collects what the
// sums of its gradient g need.
struct Recomputed {
  CudnnOperations::NormGradient norm;
  Tensor value;
};
Recomputed Recompute(const ConvProblem& problem, Id image, Tensor g, CudnnOperations* operations) {
  const auto channels = [&](Id id) {
    return operations->Channels(Of(image, id), problem.x[1], CUDNN_DATA_FLOAT);
  };
  CudnnOperations::NormGradient norm{};
  norm.x = operations->Array(image, problem.x);
  norm.mean = channels(kMean);
  norm.inverse_std = channels(kInverseStd);
  norm.scale = channels(kScale);
  norm.dy = g;
  norm.dscale = channels(kDScale);
  norm.dbias = channels(kDBias);
  norm.factor_dy = channels(kFactorDy);
  norm.factor_x = channels(kFactorX);
  norm.constant = channels(kConstant);

  const auto inside = [&] { return operations->Inside(problem.x); };
  const Tensor centered = inside(), unit = inside(), scaled = inside();
  operations->Pointwise(CUDNN_POINTWISE_SUB, norm.x, norm.mean, centered);
  operations->Pointwise(CUDNN_POINTWISE_MUL, centered, norm.inverse_std, unit);
  operations->Pointwise(CUDNN_POINTWISE_MUL, unit, norm.scale, scaled);
  return {norm, SumOf(scaled, channels(kBias), problem, operations)};
}

void AddBackwardData(const ConvProblem& problem, Residual residual, CudnnOperations* operations) {
  const auto array = [&](Id id) { return operations->Array(id, problem.x); };
  const auto sum = [&](Tensor a, Tensor b) { return SumOf(a, b, problem, operations); };
  const Tensor g = array(kG);
  Tensor dx = operations->Inside(problem.x);
  operations->Convolve(ConvDirection::kBackwardData, dx, operations->Array(kFilter, problem.filter),
                       operations->Array(kY, problem.y));
  if (residual != Residual::kNone) dx = sum(dx, array(kAlso));
  std::vector<Recomputed> normed = {Recompute(problem, kX, g, operations)};
  Tensor value = normed[0].value;
  if (residual == Residual::kPlain) value = sum(value, array(kZ));
  if (residual == Residual::kNormed) {
    normed.push_back(Recompute(problem, kZ, g, operations));
    value = sum(value, normed[1].value);
  }
  operations->ReluGradient(dx, value, g);
  for (const Recomputed& image : normed) operations->NormGradientSums(image.norm);
}

void Build(FusedConvolution variant, const ConvProblem& problem, CudnnOperations* operations) {
  switch (variant) {
    case FusedConvolution::kStats:
    case FusedConvolution::kNormedStats:
    case FusedConvolution::kNormedSumStats:
    case FusedConvolution::kNormedPairStats:
      return AddStats(variant, problem, operations);
    case FusedConvolution::kNormedBackwardFilter:
      return AddBackwardFilter(problem, operations);
    case FusedConvolution::kNormedBackwardData:
    case FusedConvolution::kNormedSumBackwardData:
    case FusedConvolution::kNormedPairBackwardData:
      return AddBackwardData(problem, ResidualOf(variant), operations);
    default:
      return AddBias(variant, problem, operations);
  }
}

const char* NameOf(FusedConvolution variant) {
  switch (variant) {
    case FusedConvolution::kStats:
      return "the convolution with sums of channels";
    case FusedConvolution::kNormedStats:
      return "the normed convolution with sums of channels";
    case FusedConvolution::kNormedBackwardFilter:
      return "the filter gradient of the normed convolution";
    case FusedConvolution::kNormedBackwardData:
      return "the input gradient of the normed convolution";
    case FusedConvolution::kNormedSumStats:
      return "the convolution of a normed sum with sums of channels";
    case FusedConvolution::kNormedSumBackwardData:
      return "the input gradient of the convolution of a normed sum";
    case FusedConvolution::kNormedPairStats:
      return "the convolution of a sum of two normed images with sums of channels";
    case FusedConvolution::kNormedPairBackwardData:
      return "the input gradient of the convolution of a sum of two normed images";
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

CudnnWork WorkOf(FusedConvolution variant, const ConvProblem& problem, int64_t alignment) {
  CudnnWork work;
  work.key = MakeString(NameOf(variant), " ", problem.ToString(), " aligned to ", alignment);
  work.graph = [=](const CudnnTarget& target) {
    CudnnOperations operations(problem, alignment);
    Build(variant, problem, &operations);
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
  Arrays& AddFactors(Id image, const BatchNormFactors& factors) {
    return Add(Of(image, kFactor), factors.factor).Add(Of(image, kShift), factors.shift);
  }
  Arrays& AddGradient(Id image, const BatchNormFactors& factors, const NormSums& sums,
                      int64_t channels) {
    return Add(Of(image, kMean), factors.mean)
        .Add(Of(image, kInverseStd), factors.inverse_std)
        .Add(Of(image, kScale), factors.scale)
        .Add(Of(image, kBias), factors.bias)
        .Add(Of(image, kDScale), sums.dscale)
        .Add(Of(image, kDBias), sums.dbias)
        .Add(Of(image, kFactorDy), sums.scratch)
        .Add(Of(image, kFactorX), sums.scratch + channels)
        .Add(Of(image, kConstant), sums.scratch + 2 * channels);
  }
  bool Run(FusedConvolution variant, const ConvProblem& problem, int device, Stream stream) const {
    return TryCudnnWork(WorkOf(variant, problem, AlignmentOf(arrays_.data, problem.type)), arrays_,
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
  const FusedConvolution variant =
      z != nullptr ? (relu ? FusedConvolution::kSumBiasRelu : FusedConvolution::kSumBias)
                   : (relu ? FusedConvolution::kBiasRelu : FusedConvolution::kBias);
  return arrays.Run(variant, problem, device, stream);
}

bool ConvolveWithStats(const ConvProblem& problem, const NormedInput* norm, const void* x,
                       const void* filter, void* y, float* sums, float* square_sums, int device,
                       Stream stream) {
  Arrays arrays;
  arrays.Add(kX, x).Add(kFilter, filter).Add(kY, y).Add(kSums, sums).Add(kSquareSums, square_sums);
  if (norm == nullptr) return arrays.Run(FusedConvolution::kStats, problem, device, stream);
  arrays.AddFactors(kX, norm->factors);
  if (norm->z == nullptr) {
    return arrays.Run(FusedConvolution::kNormedStats, problem, device, stream);
  }
  arrays.Add(kZ, norm->z).Add(kNormed, norm->normed);
  if (!norm->z_factors) {
    return arrays.Run(FusedConvolution::kNormedSumStats, problem, device, stream);
  }
  arrays.AddFactors(kZ, *norm->z_factors);
  return arrays.Run(FusedConvolution::kNormedPairStats, problem, device, stream);
}

bool ConvolveNormedBackwardFilter(const ConvProblem& problem, const NormedInput& norm,
                                  const void* x, const void* dy, void* dfilter, int device,
                                  Stream stream) {
  return Arrays()
      .Add(kX, x)
      .AddFactors(kX, norm.factors)
      .Add(kY, dy)
      .Add(kFilter, dfilter)
      .Run(FusedConvolution::kNormedBackwardFilter, problem, device, stream);
}

bool ConvolveNormedBackwardData(const ConvProblem& problem, const NormedInput& norm, const void* x,
                                const void* filter, const void* dy, const NormedInputGradient& to,
                                int device, Stream stream) {
  Arrays arrays;
  arrays.Add(kX, x).Add(kFilter, filter).Add(kY, dy).Add(kG, to.g);
  arrays.AddGradient(kX, norm.factors, to.sums, problem.x[1]);
  if (norm.z == nullptr) {
    return arrays.Run(FusedConvolution::kNormedBackwardData, problem, device, stream);
  }
  arrays.Add(kZ, norm.z).Add(kAlso, to.also);
  if (!norm.z_factors) {
    return arrays.Run(FusedConvolution::kNormedSumBackwardData, problem, device, stream);
  }
  arrays.AddGradient(kZ, *norm.z_factors, to.z_sums, problem.x[1]);
  return arrays.Run(FusedConvolution::kNormedPairBackwardData, problem, device, stream);
}

ConvPlanDescription PlanFusedConvolution(FusedConvolution variant, const ConvProblem& problem,
                                         const std::string& device_json, int max_plans) {
  return DescribeCudnnWork(WorkOf(variant, problem, kFullAlignment), device_json, max_plans);
}

}  // namespace caffe2::cuda
