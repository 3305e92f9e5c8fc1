#include "operators/conv/norm_conv_op.h"

#include <algorithm>

#include "operators/conv/conv_op.h"
#include "operators/norm/spatial_bn_kernels.h"

namespace caffe2 {

const float* BnParamsRowOf(const Tensor& bn_params, int rows, int row, int64_t channels) {
  CAFFE_ENFORCE(bn_params.dim() == 2 && bn_params.size(0) == rows && bn_params.size(1) == channels,
                "bn_params for ", channels, " channels must have shape ", rows, " x ", channels,
                ", not ", ShapeString(bn_params.sizes()));
  return bn_params.data<float>() + row * channels;
}

float* ResizeBnParams(int rows, int64_t channels, Tensor* bn_params) {
  bn_params->Resize(rows, channels);
  return bn_params->mutable_data<float>();
}

void CheckLike(const Tensor& x, const Tensor* other, const char* name) {
  CAFFE_ENFORCE(other == nullptr || (other->sizes() == x.sizes() && other->dtype() == x.dtype()),
                name, " must have the shape and type of X: ", name, " is ", other->DebugString(),
                ", X ", x.DebugString());
}

void OperatorParts::Add(const std::string& type, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs,
                        const std::vector<Argument>& more) {
  OperatorDef part = def_;
  part.set_type(type);
  part.clear_input();
  part.clear_output();
  for (const std::string& input : inputs) part.add_input(input);
  for (const std::string& output : outputs) part.add_output(output);
  for (const Argument& argument : more) {
    auto* own = part.mutable_arg();
    const auto replaced = [&argument](const Argument& a) { return a.name() == argument.name(); };
    own->erase(std::remove_if(own->begin(), own->end(), replaced), own->end());
    *own->Add() = argument;
  }
  parts_.push_back(CreateOperator(part, &workspace_));
}

void OperatorParts::Run() {
  for (const auto& part : parts_) {
    CAFFE_ENFORCE(part->RunAsync(), "the part ", part->type(), " failed");
  }
}

// The CPU has no fused engines, so the parts run.
template <>
struct NormConvDevice<CPUContext>::State {
  StorageOrder order;

  ChannelShape ShapeOf(const Tensor& x) const { return ChannelShapeOf(x.sizes(), order); }
};

template <>
NormConvDevice<CPUContext>::NormConvDevice(const OperatorDef& def)
    : state_(new State{ReadStorageOrder(ArgumentHelper(def))}) {}

template <>
bool NormConvDevice<CPUContext>::Forward(const NormedImage&, const Tensor&, Tensor*, Tensor*,
                                         Tensor*, Tensor*, CPUContext*) {
  return false;
}
template <>
bool NormConvDevice<CPUContext>::Backward(const NormedImage&, const Tensor&, const Tensor&,
                                          const Tensor*, const Tensor*, const NormConvGradients&,
                                          CPUContext*) {
  return false;
}

namespace {

struct Normalizer {
  const ChannelShape shape;
  const NormedImage& image;
  Tensor* y;

  template <typename T>
  bool DoRunWithType() {
    const auto row = [&](int r) {
      return BnParamsRowOf(*image.bn_params, kBnParamsRows, r, shape.channels);
    };
    y->ResizeLike(image.x);
    NormalizeChannels(shape, image.x.data<T>(), row(kMeanRow), row(kFactorRow), row(kBiasRow),
                      image.z != nullptr ? image.z->data<T>() : nullptr, true,
                      y->mutable_data<T>());
    return true;
  }
};

struct GradientMasker {
  const ChannelShape shape;
  const NormedImage& image;
  const Tensor &y, &dy;
  Tensor *g, *d_bn_params;

  template <typename T>
  bool DoRunWithType() {
    const int64_t channels = shape.channels;
    const auto row = [&](int r) {
      return BnParamsRowOf(*image.bn_params, kBnParamsRows, r, channels);
    };
    NormalizeGradient<T> in;
    in.x = image.x.data<T>();
    in.dy = dy.data<T>();
    in.mean = row(kMeanRow);
    in.mask = ReluMask::kFromY;
    in.y = y.data<T>();
    g->ResizeLike(image.x);
    float* sums = ResizeBnParams(kBnParamsGradientRows, channels, d_bn_params);
    float *d_scale = sums + kDScaleRow * channels, *d_bias = sums + kDBiasRow * channels;
    ChannelGradientSums(shape, in, d_bias, d_scale, g->mutable_data<T>());
    const float* inverse_std = row(kInverseStdRow);
    for (int64_t c = 0; c < channels; ++c) d_scale[c] *= inverse_std[c];
    return true;
  }
};

using ImageTypes = TensorTypes<float, bfloat16>;

}  // namespace

template <>
void NormConvDevice<CPUContext>::Normalize(const NormedImage& image, Tensor* y, CPUContext*) {
  CheckLike(image.x, image.z, "Z");
  Normalizer normalizer{state_->ShapeOf(image.x), image, y};
  ImageTypes::Dispatch(&normalizer, image.x.dtype());
}
template <>
void NormConvDevice<CPUContext>::MaskGradient(const NormedImage& image, const Tensor& y,
                                              const Tensor& dy, Tensor* g, Tensor* d_bn_params,
                                              CPUContext*) {
  GradientMasker masker{state_->ShapeOf(image.x), image, y, dy, g, d_bn_params};
  ImageTypes::Dispatch(&masker, image.x.dtype());
}

namespace {

TensorShape PerChannel(const TensorShape& y, const OperatorDef& def, int rows) {
  if (y.unknown_shape()) return UnknownTensorShape();
  const int64_t channels =
      ImageShape::FromDims(GetDimsVector(y), ReadStorageOrder(ArgumentHelper(def))).channels;
  return rows == 1 ? CreateTensorShape({channels}, TensorProto::FLOAT)
                   : CreateTensorShape({rows, channels}, TensorProto::FLOAT);
}

// X is the first input and the filter the last one, as for Conv.
std::vector<TensorShape> InferConvStats(const OperatorDef& def,
                                        const std::vector<TensorShape>& inputs) {
  const TensorShape y = InferConv(def, {inputs.front(), inputs.back()})[0];
  std::vector<TensorShape> outputs = {y, PerChannel(y, def, 1), PerChannel(y, def, 1)};
  if (def.output_size() > 3) outputs.push_back(inputs[0]);
  return outputs;
}
OpSchema::Cost CostOfConvStats(const OperatorDef& def, const std::vector<TensorShape>& inputs) {
  return CostOfConv(def, {inputs.front(), inputs.back()});
}

template <NormPrologue kPrologue>
std::vector<TensorShape> InferGradient(const OperatorDef& def,
                                       const std::vector<TensorShape>& inputs) {
  TensorShape filter = inputs[FilterInput(kPrologue)];
  if (ArgumentHelper(def).GetSingleArgument<bool>("float_gradients", false)) {
    filter.set_data_type(TensorProto::FLOAT);
  }
  std::vector<TensorShape> outputs = {filter, inputs[0]};
  for (int image = 0; image <= HasTwoNorms(kPrologue); ++image) {
    outputs.push_back(PerChannel(inputs[0], def, kBnParamsGradientRows));
  }
  return outputs;
}

// Describes the inputs before the filter.
template <NormPrologue kPrologue>
void DescribeImages(OpSchema& schema) {
  schema.Input(0, "X",
               "N x C x spatial (NCHW) or N x spatial x C (NHWC), of a type that Conv takes.");
  if (kPrologue != NormPrologue::kNone) {
    schema.Input(1, "bn_params",
                 "How X is normalized, from SpatialBNFinalize: 6 x C, float; rows mean, 1 / "
                 "deviation, scale, bias, factor, shift.");
  }
  if (HasSum(kPrologue)) schema.Input(2, "Z", "X's shape and type.");
  if (HasTwoNorms(kPrologue)) schema.Input(3, "z_bn_params", "How Z is normalized, as bn_params.");
}

template <NormPrologue kPrologue>
void DescribeConvStats(OpSchema& schema) {
  constexpr int kFilter = FilterInput(kPrologue);
  schema.NumInputs(kFilter + 1)
      .NumOutputs(HasSum(kPrologue) ? 4 : 3)
      .FillUsing(DescribeWindow)
      .Arg<int>("group", "(> 0, default 1) Number of groups that channels and filters fall into.")
      .FillUsing(DescribeConvAlgorithm)
      .TensorInferenceFunction(InferConvStats)
      .CostInferenceFunction(CostOfConvStats)
      .FillUsing(DescribeImages<kPrologue>)
      .Input(kFilter, "filter", "As for Conv, of X's type or float.")
      .Output(0, "Y", "As for Conv.")
      .Output(1, "sum", "Sum of every channel of Y over batch and space, M values, float.")
      .Output(2, "sumsq", "Sum of squares, likewise.");
  if (HasSum(kPrologue)) {
    schema.Output(3, "N", "The input of the convolution, of X's shape and type.");
  }
}

template <NormPrologue kPrologue>
void DescribeGradient(OpSchema& schema) {
  constexpr int kFilter = FilterInput(kPrologue);
  schema.NumOutputs(HasTwoNorms(kPrologue) ? 4 : 3)
      .FillUsing(DescribeWindow)
      .Arg<int>("group", "As in the forward operator.")
      .FillUsing(DescribeConvAlgorithm)
      .Arg<bool>("float_gradients", "(default false) As for ConvGradient.")
      .TensorInferenceFunction(InferGradient<kPrologue>)
      .FillUsing(DescribeImages<kPrologue>)
      .Input(kFilter, "filter", "The forward operator's filter.")
      .Input(kFilter + 1, "dY", "Gradient of Y, in its shape and type.")
      .Output(0, "dfilter", "Gradient of the filter, in its shape and type.")
      .Output(1, "g", "Gradient of the normalized X (not of X), in X's shape and type.")
      .Output(2, "d_bn_params",
              "2 x C, float: the sum of g * (X - mean) / deviation, which is the gradient of "
              "scale, and the sum of g, which is the gradient of bias.");
  if (HasTwoNorms(kPrologue)) schema.Output(3, "dz_bn_params", "The same of Z.");
  if (!HasSum(kPrologue)) {
    schema.NumInputs(kFilter + 2);
    return;
  }
  schema.NumInputs(kFilter + 3, kFilter + 4)
      .Input(kFilter + 2, "N", "The forward operator's output.")
      .Input(kFilter + 3, "dN", "Gradient of N from its other readers; optional.");
}

using PlainConvStats = ConvStatsOp<CPUContext, NormPrologue::kNone>;
using NormReluConvStats = ConvStatsOp<CPUContext, NormPrologue::kNormRelu>;
using NormSumReluConvStats = ConvStatsOp<CPUContext, NormPrologue::kNormSumRelu>;
using NormSumNormReluConvStats = ConvStatsOp<CPUContext, NormPrologue::kNormSumNormRelu>;
using NormReluConvStatsGradient = NormConvStatsGradientOp<CPUContext, NormPrologue::kNormRelu>;
using NormSumReluConvStatsGradient =
    NormConvStatsGradientOp<CPUContext, NormPrologue::kNormSumRelu>;
using NormSumNormReluConvStatsGradient =
    NormConvStatsGradientOp<CPUContext, NormPrologue::kNormSumNormRelu>;

REGISTER_CPU_OPERATOR(ConvStats, PlainConvStats);
OPERATOR_SCHEMA(ConvStats)
    .FillUsing(DescribeConvStats<NormPrologue::kNone>)
    .Arg<bool>("no_gradient_to_input",
               "(default 0) 1: the gradient operator does not compute the gradient of X.")
    .SetDoc(
        "Conv without bias, and the sums of ChannelStats over its result, for batch "
        "normalization. Runs in one pass if the device has an engine for it.");

REGISTER_CPU_OPERATOR(NormReluConvStats, NormReluConvStats);
OPERATOR_SCHEMA(NormReluConvStats)
    .FillUsing(DescribeConvStats<NormPrologue::kNormRelu>)
    .SetDoc(
        "ConvStats of max(0, factor * X + shift), the normalized X after a Relu. If the device has "
        "an engine for it, this runs in one pass and the normalized image is never written to "
        "memory.");

REGISTER_CPU_OPERATOR(NormSumReluConvStats, NormSumReluConvStats);
OPERATOR_SCHEMA(NormSumReluConvStats)
    .FillUsing(DescribeConvStats<NormPrologue::kNormSumRelu>)
    .SetDoc(
        "N = max(0, factor * X + shift + Z), the end of a residual block, and ConvStats of N, the "
        "beginning of the next one. Runs in one pass if the device has an engine for it.");

REGISTER_CPU_OPERATOR(NormSumNormReluConvStats, NormSumNormReluConvStats);
OPERATOR_SCHEMA(NormSumNormReluConvStats)
    .FillUsing(DescribeConvStats<NormPrologue::kNormSumNormRelu>)
    .SetDoc(
        "N = max(0, factor * X + shift + z_factor * Z + z_shift), the end of a residual block "
        "with a normalized shortcut, and ConvStats of N, the beginning of the next one. Runs in "
        "one pass if the device has an engine for it.");

REGISTER_CPU_OPERATOR(NormReluConvStatsGradient, NormReluConvStatsGradient);
OPERATOR_SCHEMA(NormReluConvStatsGradient)
    .FillUsing(DescribeGradient<NormPrologue::kNormRelu>)
    .SetDoc(
        "Gradient of NormReluConvStats. SpatialBNFinalizeGradient computes the gradient of X from "
        "its results.");
NO_GRADIENT(NormReluConvStatsGradient);

REGISTER_CPU_OPERATOR(NormSumReluConvStatsGradient, NormSumReluConvStatsGradient);
OPERATOR_SCHEMA(NormSumReluConvStatsGradient)
    .FillUsing(DescribeGradient<NormPrologue::kNormSumRelu>)
    .SetDoc(
        "Gradient of NormSumReluConvStats. g is also the gradient of Z. SpatialBNFinalizeGradient "
        "computes the gradient of X from the results.");
NO_GRADIENT(NormSumReluConvStatsGradient);

REGISTER_CPU_OPERATOR(NormSumNormReluConvStatsGradient, NormSumNormReluConvStatsGradient);
OPERATOR_SCHEMA(NormSumNormReluConvStatsGradient)
    .FillUsing(DescribeGradient<NormPrologue::kNormSumNormRelu>)
    .SetDoc(
        "Gradient of NormSumNormReluConvStats. g is also the gradient of the normalized Z. "
        "SpatialBNFinalizeGradient computes the gradients of X and Z from the results.");
NO_GRADIENT(NormSumNormReluConvStatsGradient);

// The sums have no gradients here: batch normalization reads them, and its own gradient accounts
// for them.
class GetConvStatsGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    for (int i : {1, 2}) {
      CAFFE_ENFORCE(GradOut(i).IsEmpty(), "no gradient can flow through output ", Def().output(i),
                    " of ", Def().type(), ", a sum for batch normalization");
    }
    if (Def().type() == "NormReluConvStats") {
      return {CreateOperatorDef("NormReluConvStatsGradient", "", {I(0), I(1), I(2), GO(0)},
                                {GI(2), GI(0), GI(1)})};
    }
    if (Def().output_size() > kSummed) return SumGradient();
    std::vector<std::string> outputs = {GI(1)};
    if (!ArgumentHelper(Def()).GetSingleArgument<bool>("no_gradient_to_input", false)) {
      outputs.push_back(GI(0));
    }
    return {CreateOperatorDef("ConvGradient", "", {I(0), I(1), GO(0)}, outputs,
                              {MakeArgument<int>("no_bias", 1)})};
  }

 private:
  static constexpr int kSummed = 3;  // the output N, in operators with a sum

  std::vector<OperatorDef> SumGradient() {
    const int filter = Def().input_size() - 1;
    std::vector<std::string> inputs(Def().input().begin(), Def().input().end());
    inputs.insert(inputs.end(), {GO(0), O(kSummed)});
    if (!GradOut(kSummed).IsEmpty()) inputs.push_back(GO(kSummed));
    // One blob for both terms.
    const std::string g = GradientName(O(kSummed)) + "_before_relu";
    SetDense(0, g);
    SetDense(2, g);
    std::vector<std::string> outputs = {GI(filter), g, GI(1)};
    if (filter == FilterInput(NormPrologue::kNormSumNormRelu)) outputs.push_back(GI(3));
    return {CreateOperatorDef(Def().type() + "Gradient", "", inputs, outputs)};
  }
};
REGISTER_GRADIENT(ConvStats, GetConvStatsGradient);
REGISTER_GRADIENT(NormSumReluConvStats, GetConvStatsGradient);
REGISTER_GRADIENT(NormReluConvStats, GetConvStatsGradient);
REGISTER_GRADIENT(NormSumNormReluConvStats, GetConvStatsGradient);

}  // namespace
}  // namespace caffe2
