#include "operators/conv/norm_conv_op.h"

#include <algorithm>

#include "operators/conv/conv_op.h"
#include "operators/norm/spatial_bn_kernels.h"

namespace caffe2 {

const float* NormRowOf(const Tensor& norm, int rows, int row, int64_t channels) {
  CAFFE_ENFORCE(norm.dim() == 2 && norm.size(0) == rows && norm.size(1) == channels, "a norm of ",
                channels, " channels has shape ", rows, " x ", channels, ", not ",
                ShapeString(norm.sizes()));
  return norm.data<float>() + row * channels;
}

float* ResizeNorm(int rows, int64_t channels, Tensor* norm) {
  norm->Resize(rows, channels);
  return norm->mutable_data<float>();
}

void CheckLike(const Tensor& x, const Tensor* other, const char* name) {
  CAFFE_ENFORCE(other == nullptr || (other->sizes() == x.sizes() && other->dtype() == x.dtype()),
                name, " is ", other->DebugString(), ", X ", x.DebugString());
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

// The CPU has no engines for the whole.
template <>
struct NormConvDevice<CPUContext>::State {
  StorageOrder order;

  ChannelShape ShapeOf(const Tensor& x) const { return ChannelShape::Make(x.sizes(), order); }
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
    const auto row = [&](int r) { return NormRowOf(*image.norm, kNormRows, r, shape.channels); };
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
  Tensor *g, *dnorm;

  template <typename T>
  bool DoRunWithType() {
    const int64_t channels = shape.channels;
    const auto row = [&](int r) { return NormRowOf(*image.norm, kNormRows, r, channels); };
    NormalizeGradient<T> in;
    in.x = image.x.data<T>();
    in.dy = dy.data<T>();
    in.mean = row(kMeanRow);
    in.mask = ReluMask::kFromY;
    in.y = y.data<T>();
    g->ResizeLike(image.x);
    float* sums = ResizeNorm(kNormGradientRows, channels, dnorm);
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
                                              const Tensor& dy, Tensor* g, Tensor* dnorm,
                                              CPUContext*) {
  GradientMasker masker{state_->ShapeOf(image.x), image, y, dy, g, dnorm};
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

// The first and the last input are those of Conv.
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
  for (int norm = 0; norm <= HasTwoNorms(kPrologue); ++norm) {
    outputs.push_back(PerChannel(inputs[0], def, kNormGradientRows));
  }
  return outputs;
}

// What is normalized, and how.
template <NormPrologue kPrologue>
void DescribeImages(OpSchema& schema) {
  schema.Input(0, "X", "N x C x spatial (NCHW) or N x spatial x C (NHWC), of a type Conv takes.");
  if (kPrologue != NormPrologue::kNone) {
    schema.Input(1, "norm",
                 "How X is normalized, from SpatialBNFinalize: 6 x C, float; rows mean, 1 / "
                 "deviation, scale, bias, factor, shift.");
  }
  if (HasSum(kPrologue)) schema.Input(2, "Z", "X's shape and type.");
  if (HasTwoNorms(kPrologue)) schema.Input(3, "z_norm", "How Z is normalized, likewise.");
}

template <NormPrologue kPrologue>
void DescribeConvStats(OpSchema& schema) {
  constexpr int kFilter = FilterInput(kPrologue);
  schema.NumInputs(kFilter + 1)
      .NumOutputs(HasSum(kPrologue) ? 4 : 3)
      .FillUsing(DescribeWindow)
      .Arg("group", "Number of groups that channels and filters fall into, default 1.")
      .FillUsing(DescribeConvAlgorithm)
      .TensorInferenceFunction(InferConvStats)
      .CostInferenceFunction(CostOfConvStats)
      .FillUsing(DescribeImages<kPrologue>)
      .Input(kFilter, "filter", "As of Conv, of X's type or float.")
      .Output(0, "Y", "As of Conv.")
      .Output(1, "sum", "Sum of every channel of Y over batch and space, M values, float.")
      .Output(2, "sumsq", "Sum of squares, likewise.");
  if (HasSum(kPrologue)) {
    schema.Output(3, "N", "What the convolution reads, in X's shape and type.");
  }
}

template <NormPrologue kPrologue>
void DescribeGradient(OpSchema& schema) {
  constexpr int kFilter = FilterInput(kPrologue);
  schema.NumOutputs(HasTwoNorms(kPrologue) ? 4 : 3)
      .FillUsing(DescribeWindow)
      .Arg("group", "As in the forward operator.")
      .FillUsing(DescribeConvAlgorithm)
      .Arg("float_gradients", "(bool, default false) As of ConvGradient.")
      .Arg("side_stream",
           "(bool, default false) As of ConvGradient; N, where it is there, stands for X.")
      .TensorInferenceFunction(InferGradient<kPrologue>)
      .FillUsing(DescribeImages<kPrologue>)
      .Input(kFilter, "filter", "The forward operator's filter.")
      .Input(kFilter + 1, "dY", "Gradient of Y, in its shape and type.")
      .Output(0, "dfilter", "Gradient of the filter, in its shape and type.")
      .Output(1, "g", "Gradient of the normalized X (not of X), in X's shape and type.")
      .Output(2, "dnorm",
              "2 x C, float: sum of g * (X - mean) / deviation, which is the gradient of "
              "scale, and sum of g, that of bias.");
  if (HasTwoNorms(kPrologue)) schema.Output(3, "dz_norm", "The same of Z.");
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
    .SetDoc(
        "Conv without bias, and the sums of ChannelStats of its result, which batch normalization "
        "needs: in one pass where the device has an engine for it.");

REGISTER_CPU_OPERATOR(NormReluConvStats, NormReluConvStats);
OPERATOR_SCHEMA(NormReluConvStats)
    .FillUsing(DescribeConvStats<NormPrologue::kNormRelu>)
    .SetDoc(
        "ConvStats of max(0, factor * X + shift), which is the normalized X behind a Relu: in one "
        "pass that leaves it nowhere in memory, where the device has an engine for it.");

REGISTER_CPU_OPERATOR(NormSumReluConvStats, NormSumReluConvStats);
OPERATOR_SCHEMA(NormSumReluConvStats)
    .FillUsing(DescribeConvStats<NormPrologue::kNormSumRelu>)
    .SetDoc(
        "N = max(0, factor * X + shift + Z), the end of a residual block, and ConvStats of it, the "
        "beginning of the next one: in one pass where the device has an engine for it.");

REGISTER_CPU_OPERATOR(NormSumNormReluConvStats, NormSumNormReluConvStats);
OPERATOR_SCHEMA(NormSumNormReluConvStats)
    .FillUsing(DescribeConvStats<NormPrologue::kNormSumNormRelu>)
    .SetDoc(
        "N = max(0, factor * X + shift + z_factor * Z + z_shift), the end of a residual block "
        "whose shortcut is normalized, too, and ConvStats of it, the beginning of the next one: in "
        "one pass where the device has an engine for it.");

REGISTER_CPU_OPERATOR(NormReluConvStatsGradient, NormReluConvStatsGradient);
OPERATOR_SCHEMA(NormReluConvStatsGradient)
    .FillUsing(DescribeGradient<NormPrologue::kNormRelu>)
    .SetDoc("Gradient of NormReluConvStats; SpatialBNFinalizeGradient makes X's gradient of it.");
NO_GRADIENT(NormReluConvStatsGradient);

REGISTER_CPU_OPERATOR(NormSumReluConvStatsGradient, NormSumReluConvStatsGradient);
OPERATOR_SCHEMA(NormSumReluConvStatsGradient)
    .FillUsing(DescribeGradient<NormPrologue::kNormSumRelu>)
    .SetDoc(
        "Gradient of NormSumReluConvStats. g is Z's gradient too; SpatialBNFinalizeGradient makes "
        "X's gradient of it.");
NO_GRADIENT(NormSumReluConvStatsGradient);

REGISTER_CPU_OPERATOR(NormSumNormReluConvStatsGradient, NormSumNormReluConvStatsGradient);
OPERATOR_SCHEMA(NormSumNormReluConvStatsGradient)
    .FillUsing(DescribeGradient<NormPrologue::kNormSumNormRelu>)
    .SetDoc(
        "Gradient of NormSumNormReluConvStats. g is the gradient of the normalized Z too; "
        "SpatialBNFinalizeGradient makes those of X and Z of it.");
NO_GRADIENT(NormSumNormReluConvStatsGradient);

// The sums are for batch normalization, whose own gradient accounts for what they depend on.
class GetConvStatsGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    for (int i : {1, 2}) {
      CAFFE_ENFORCE(GradOut(i).IsEmpty(), Def().type(), " has no gradient of its sums (",
                    Def().output(i), ")");
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
  static constexpr int kSummed = 3;  // the output that the convolution reads, where there is a sum

  std::vector<OperatorDef> SumGradient() {
    const int filter = Def().input_size() - 1;
    std::vector<std::string> inputs(Def().input().begin(), Def().input().end());
    inputs.insert(inputs.end(), {GO(0), O(kSummed)});
    if (!GradOut(kSummed).IsEmpty()) inputs.push_back(GO(kSummed));
    // One blob for both summands.
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
