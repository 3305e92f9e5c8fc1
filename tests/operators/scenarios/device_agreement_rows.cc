#include "tests/operators/scenarios/device_agreement_rows.h"

namespace caffe2::testing {
namespace {

// The sources of the bounds: CUDA's programming guide, and caffe2/utils/vector_math.h for the host.
// Functions of the C library are within 1 ulp.
constexpr char kFtrl[] =
    "only one of them rounds sigma w, which is up to 1 / alpha = 200 times the operands";
constexpr char kFused[] = "only one of them rounds the product before it is added";

std::vector<Row> UnaryRows() {
  using enum In;
  const std::vector<In> x{kAny}, dy{kAny, kAny};
  std::vector<Row> rows = {
      {"Exp", x, 4, "each is within 2 ulps"},
      {"Log", x, 2, "each is within 1 ulp"},
      {"Log1p", x, 3, "CUDA's is within 1 ulp, the host's within 2"},
      {"Log1pGradient", dy},
      {"Erf", x, 4, "each is within 2 ulps"},
      {"ErfGradient", dy, 5, "e^-x^2 of each is within 2 ulps"},
      {"Sin", x, 3, "CUDA's is within 2 ulps"},
      {"SinGradient", dy, 3, "CUDA's cosine is within 2 ulps"},
      {"Cos", x, 3, "CUDA's is within 2 ulps"},
      {"CosGradient", dy, 3, "CUDA's sine is within 2 ulps"},
      {"Tan", x, 5, "CUDA's is within 4 ulps"},
      {"TanGradient", dy, 7, "CUDA's cosine is within 2 ulps, and it is squared"},
      {"Asin", x, 3, "CUDA's is within 2 ulps"},
      {"AsinGradient", {kInside, kAny}, 8, kFused},
      {"Acos", x, 3, "CUDA's is within 2 ulps"},
      {"AcosGradient", {kInside, kAny}, 8, kFused},
      {"Atan", x, 3, "CUDA's is within 2 ulps"},
      {"AtanGradient", dy, 2, kFused},
      {"Sinh", x, 4, "CUDA's is within 3 ulps"},
      {"SinhGradient", dy, 3, "CUDA's hyperbolic cosine is within 2 ulps"},
      {"Cosh", x, 3, "CUDA's is within 2 ulps"},
      {"CoshGradient", dy, 4, "CUDA's hyperbolic sine is within 3 ulps"},
      {"Cbrt", x, 2, "CUDA's is within 1 ulp"},
      {"CbrtGradient", dy},
      {"Rsqrt", x},
      {"RsqrtGradient", dy},
      {"Sqrt", x},
      {"Reciprocal", x},
      {"ReciprocalGradient", dy},
      {"Abs", x},
      {"AbsGradient", dy},
      {"Negative", x},
      {"Sign", x},
      {"Sqr", x},
      {"Cube", x},
      {"CubeGradient", dy},
      {"Ceil", x},
      {"Floor", x},
      {"Not", {kBool}},
      {"ReplaceNaN", x, 0, "", At::kResult, Args("value", 1.5f)},
      {"Scale", x, 0, "", At::kResult, Args("scale", 1.7f)},
      {"ScaleBlobs", x, 0, "", At::kResult, Args("scale", 1.7f)},
      {"Clip", x, 0, "", At::kResult, Args("min", -1.f, "max", 0.7f)},
      {"ClipGradient", dy, 0, "", At::kResult, Args("min", -1.f, "max", 0.7f)},
      {"StumpFunc", x, 0, "", At::kResult, Args("threshold", 0.5f, "low_value", 2.f)},
      {"Mod", x, 0, "", At::kResult, Args("divisor", 7, "sign_follow_divisor", true)},
      {"Pow", x, 0, "", At::kResult, Args("exponent", 2.f)},
      {"Pow", x, 9, "CUDA's is within 8 ulps", At::kResult, Args("exponent", 1.7f)},
      {"FloatToHalf", x},
      {"HalfToFloat", x},
      {"PiecewiseLinearTransform", x, 1, kFused, At::kOperands,
       Args("bounds", std::vector<float>{-1, 0, 2}, "slopes", std::vector<float>{1.3f, -0.7f},
            "intercepts", std::vector<float>{0.1f, 0.2f}, "binary", true)},
  };
  rows.back().inputs = {kRowFactors};
  for (const int to :
       {TensorProto::FLOAT, TensorProto::INT32, TensorProto::UINT8, TensorProto::BOOL,
        TensorProto::FLOAT16, TensorProto::BFLOAT16, TensorProto::INT64, TensorProto::DOUBLE}) {
    rows.push_back({"Cast", x, 0, "", At::kResult, Args("to", to)});
  }
  return rows;
}

std::vector<Row> ActivationRows() {
  using enum In;
  const std::vector<In> x{kAny}, dy{kAny, kAny};
  const char* const gate = "a gate near 1 has few digits left once it is subtracted from 1";
  return {
      {"Relu", x, 1, "-0: in 16 bits the CPU makes it 0"},
      {"ReluGradient", dy},
      {"ReluN", x},
      {"ReluNGradient", dy},
      {"LeakyRelu", x, 0, "", At::kResult, Args("alpha", 0.3f)},
      {"LeakyReluGradient", dy, 0, "", At::kResult, Args("alpha", 0.3f)},
      {"ThresholdedRelu", x},
      {"ThresholdedReluGradient", dy},
      {"PRelu", {kAny, kColumns}},
      {"Elu", x, 4, "e^x - 1 of CUDA is within 1 ulp, the host's within 2", At::kResult,
       Args("alpha", 0.7f)},
      {"EluGradient", dy, 0, "", At::kResult, Args("alpha", 0.7f)},
      {"Selu", x, 5, "e^x - 1 of CUDA is within 1 ulp, the host's within 2"},
      {"SeluGradient", dy, 2, kFused, At::kOperands},
      {"Sigmoid", x, 5, "e^-x of each is within 2 ulps"},
      {"SigmoidGradient", dy},
      {"HardSigmoid", x, 1, kFused, At::kOperands},
      {"HardSigmoidGradient", dy},
      {"Tanh", x, 5, "CUDA's is within 2 ulps, the host's within 3"},
      {"TanhGradient", dy, 2, kFused, At::kOperands},
      {"Softplus", x, 8, "e^x of each is within 2 ulps, and so is the logarithm"},
      {"SoftplusGradient",
       {kModest, kModest},
       3,
       "e^-y - 1 of CUDA is within 1 ulp, the host's within 2, and 0 for the smallest numbers",
       At::kOperands},
      {"Softsign", x},
      {"SoftsignGradient", dy},
      {"Logit", x, 2, "the logarithm of each is within 1 ulp"},
      {"LogitGradient", dy},
      {"Swish", x, 5, "e^-x of each is within 2 ulps"},
      {"SwishGradient", {kModest, kModest, kModest}, 64, gate, At::kOperands},
      {"Mish", x, 16, "of the errors of Softplus and of the hyperbolic tangent"},
      {"MishGradient", {kModest, kModest, kModest}, 64, gate, At::kOperands},
      {"Gelu", x, 4, "the error function of each is within 2 ulps", At::kOperands},
      {"Gelu", x, 8, gate, At::kOperands, Args("fast_gelu", true)},
      {"GeluGradient",
       {kModest, kModest},
       16,
       "the error function of each is within 2 ulps",
       At::kOperands},
      {"GeluGradient", {kModest, kModest}, 128, gate, At::kOperands, Args("fast_gelu", true)},
      {"DropoutGrad", {kAny, kBool}, 0, "", At::kResult, Args("ratio", 0.3f)},
  };
}

std::vector<Row> RecurrentRows() {
  using enum In;
  const char* const sum = "the sigmoid and the hyperbolic tangent of each are within 5 ulps";
  const char* const product = "products of up to five such functions and of 1 minus them";
  const std::vector<Argument> keep, drop = Args("drop_states", true);
  std::vector<Row> rows;
  for (const auto& args : {keep, drop}) {
    rows.push_back({"LSTMUnit",
                    {kModest, kInside, kFourGates, kLengths, kTimestep},
                    24,
                    sum,
                    At::kOperands,
                    args,
                    {-1, -1}});
    rows.push_back({"LSTMUnitGradient",
                    {kModest, kInside, kFourGates, kLengths, kTimestep, kModest, kInside, kPositive,
                     kPositive},
                    48,
                    product,
                    At::kResult,
                    args,
                    {-1, -1, -1}});
    rows.push_back(
        {"GRUUnit", {kModest, kThreeGates, kLengths, kTimestep}, 24, sum, At::kOperands, args});
    rows.push_back({"GRUUnitGradient",
                    {kPositive, kThreeGates, kLengths, kTimestep, kModest, kModest},
                    48,
                    product,
                    At::kResult,
                    args,
                    {-1, -1}});
  }
  return rows;
}

std::vector<Row> BinaryRows() {
  using enum In;
  const std::vector<In> pair{kAny, kAny}, three{kAny, kAny, kAny}, bools{kBool, kBool};
  const std::vector<int> two{-1, -1};
  std::vector<Row> rows = {
      {"AddGradient", three, 0, "", At::kResult, {}, two},
      {"SubGradient", three, 0, "", At::kResult, {}, two},
      {"MulGradient", three, 0, "", At::kResult, {}, two},
      {"DivGradient", three, 0, "", At::kResult, {}, two},
      {"PowGradient", three, 12, "CUDA's power is within 8 ulps", At::kResult, {}, two},
      {"Pow", pair, 9, "CUDA's is within 8 ulps"},
      {"Where", {kBool, kAny, kAny}},
      {"Conditional", {kRowBool, kAny, kAny}},
      {"Glu", {kAny}, 5, "e^-x of each is within 2 ulps", At::kResult, Args("dim", 0)},
      {"Sum", three},
      {"Max", three},
      {"Min", three},
      {"Mean", three},
      {"MeanGradient", {kAny}, 0, "", At::kResult, {}, {-1, -1, -1}},
      {"MaxGradient", {kAny, kAny, kChosen}},
      {"MinGradient", {kAny, kAny, kChosen}},
      {"RowMul", {kAny, kRowFactors}},
      {"WeightedSum", {kModest, kRate, kModest, kRate}, 1, kFused, At::kOperands},
      {"WeightedSumGradient", {kAny, kAny, kRate}},
      {"ElementwiseLinear", {kModest, kColumns, kColumns}, 2, kFused, At::kOperands},
      {"ReduceFrontWeightedSumGradient", {kRowFactors, kColumns}},
      {"BatchBoxCox",
       {kPositive, kPositiveColumns, kPositiveColumns},
       32,
       "CUDA's power is within 8 ulps, of which 1 is subtracted",
       At::kOperands},
      {"SquareRootDivide", {kAny, kRowFactors}},
      {"SinusoidPositionEncoding", {kLastSeen}, 1, "double functions, rounded once"},
  };
  for (const char* type : {"Add", "Sub", "Mul", "Div", "EQ", "NE", "LT", "LE", "GT", "GE"}) {
    rows.push_back({type, pair});
  }
  for (const char* type : {"And", "Or", "Xor"}) rows.push_back({type, bools});
  for (const char* type : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"}) rows.push_back({type, bools});
  return rows;
}

std::vector<Row> UpdateRows() {
  using enum In;
  const At at = At::kOperands;
  const auto decay = [](std::vector<Argument> more = {}) {
    more.push_back(MakeArgument("weight_decay", 0.01f));
    return more;
  };
  const std::vector<Argument> momentum = Args("momentum", 0.9f),
                              nesterov = Args("momentum", 0.9f, "nesterov", 1);
  return {
      {"MomentumSGD", {kModest, kModest, kRate}, 2, kFused, at, momentum, {-1, -1}},
      {"MomentumSGD", {kModest, kModest, kRate}, 4, kFused, at, nesterov, {-1, -1}},
      {"MomentumSGDUpdate",
       {kModest, kModest, kRate, kModest},
       8,
       kFused,
       at,
       decay(nesterov),
       {-1, -1, -1}},
      {"FP32MomentumSGDUpdate",
       {kModest, kModest, kRate, kModest},
       2,
       kFused,
       at,
       momentum,
       {-1, -1, -1}},
      {"FP16MomentumSGDUpdate",
       {kModest, kModest, kRate, kModest},
       2,
       kFused,
       at,
       momentum,
       {-1, -1, -1}},
      {"MultiMomentumSGDUpdate",
       {kModest, kFloats, kRate, kFloats},
       4,
       kFused,
       at,
       nesterov,
       {-1, -1}},
      {"Adam",
       {kModest, kModest, kPositive, kModest, kRate, kIter},
       4,
       kFused,
       at,
       {},
       {-1, -1, -1, -1}},
      {"Adam",
       {kModest, kModest, kPositive, kModest, kRate, kIter},
       8,
       kFused,
       at,
       decay(),
       {-1, -1, -1, -1}},
      {"Adam",
       {kModest, kModest, kPositive, kModest, kRate, kIter},
       4,
       kFused,
       at,
       decay(Args("decoupled_weight_decay", true)),
       {-1, -1, -1, -1}},
      {"MultiAdam",
       {kModest, kFloats, kPositive, kRate, kIter, kFloats},
       4,
       kFused,
       at,
       {},
       {-1, -1, -1}},
      {"Adagrad", {kModest, kPositive, kModest, kRate}, 8, kFused, at, decay(), {-1, -1, -1, -1}},
      {"MultiAdagrad", {kModest, kPositive, kRate, kFloats}, 4, kFused, at, {}, {-1, -1}},
      {"DecayAdagrad",
       {kModest, kModest, kPositive, kModest, kRate, kIter},
       4,
       kFused,
       at,
       decay(),
       {-1, -1, -1}},
      {"RmsProp", {kModest, kPositive, kModest, kRate}, 4, kFused, at, momentum, {-1, -1, -1}},
      {"MultiRmsProp",
       {kModest, kPositive, kFloats, kRate, kFloats},
       4,
       kFused,
       at,
       momentum,
       {-1, -1, -1}},
      {"Adadelta",
       {kModest, kPositive, kPositive, kModest, kRate},
       4,
       kFused,
       at,
       {},
       {-1, -1, -1}},
      {"Ftrl", {kModest, kPairs, kModest}, 256, kFtrl, at, {}, {-1, -1}},
      {"MaskedAdagrad", {kModest, kPositive, kModest, kRate, kModest}, 4, kFused, at, {}, {-1, -1}},
      {"SWA", {kModest, kModest, kIter}, 2, kFused, at, {}, {0, 1}},
      {"EMA", {kModest, kModest, kIter}, 2, kFused, at, Args("ema_alpha", 0.9f), {0, 1}},
      {"WeightScale", {kModest, kIter}, 0, "", at, Args("stepsize", 4, "scale", 0.3f)},
      {"EnsureClipped", {kAny}, 0, "", at, Args("min", -1.f, "max", 0.7f), {0}},
      {"ClipTensorByScaling", {kAny, kNorm}, 0, "", at, Args("threshold", 0.3f)},
      {"ClipTensorByNorm", {kAny, kNorm}, 0, "", at, Args("threshold", 0.3f)},
      {"SparseMomentumSGDUpdate",
       {kRows, kModest, kRate, kModest, kIndices},
       8,
       kFused,
       at,
       nesterov,
       {0, 1, 3}},
      {"SparseAdam",
       {kModest, kModest, kPositive, kIndices, kRows, kRate, kIter},
       4,
       kFused,
       at,
       {},
       {0, 1, 2}},
      {"SmartDecaySparseAdam",
       {kModest, kModest, kPositive, kLastSeen, kIndices, kRows, kRate, kIter},
       32,
       "CUDA's power is within 8 ulps",
       at,
       {},
       {0, 1, 2, 3}},
      {"SparseAdagrad",
       {kModest, kPositive, kIndices, kRows, kRate},
       4,
       kFused,
       at,
       decay(),
       {0, 1}},
      {"SparseAdadelta",
       {kModest, kPositive, kPositive, kIndices, kRows, kRate},
       4,
       kFused,
       at,
       {},
       {0, 1, 2}},
      {"SparseFtrl", {kModest, kPairs, kIndices, kRows}, 256, kFtrl, at, {}, {0, 1}},
      {"MaskedSparseAdagrad",
       {kModest, kPositive, kIndices, kRows, kRate, kMaskBits, kFlag},
       4,
       kFused,
       at,
       {},
       {0, 1}},
      {"RowWiseCounter",
       {kLastSeen, kCounts, kIndices, kIter},
       4,
       "exp and pow of double",
       at,
       Args("counter_halflife", 5),
       {0, 1}},
      {"SparseLpRegularizer",
       {kModest, kIndices},
       0,
       "",
       at,
       Args("p", 2.f, "reg_lambda", 0.1f),
       {0}},
  };
}

}  // namespace

const std::map<std::string, std::string>& NotElementwise() {
  constexpr char sums[] = "sums over many elements have another order on each device";
  constexpr char nets[] = "runs a net, or moves and adds up states of one";
  static const std::map<std::string, std::string> types = {
      {"ClipByGlobalNorm", sums},
      {"ElementwiseLinearGradient", sums},
      {"GFtrl", sums},
      {"Lars", sums},
      {"GroupSpatialSoftmax", sums},
      {"GroupSpatialSoftmaxGradient", sums},
      {"LearningRateAdaption", sums},
      {"MaskedRowWiseSparseAdagrad", sums},
      {"PReluGradient", sums},
      {"ReduceFrontWeightedSum", sums},
      {"ReduceTailSum", sums},
      {"RowWiseSparseAdagrad", sums},
      {"RowWiseSparseAdam", sums},
      {"Softmax", sums},
      {"SoftmaxGradient", sums},
      {"SparseNormalize", sums},
      {"Float16SparseNormalize", sums},
      {"Storm", sums},
      {"SparseStorm", sums},
      {"Wngrad", sums},
      {"SparseWngrad", sums},
      {"YellowFin", sums},
      {"Dropout", "draws random numbers; DropoutAgreementTest compares it"},
      {"LearningRate", "runs on the host"},
      {"RecurrentNetwork", nets},
      {"RecurrentNetworkGradient", nets},
      {"rnn_internal_apply_link", nets},
      {"rnn_internal_accumulate_gradient_input", nets},
  };
  return types;
}

std::vector<Row> AgreementRows() {
  std::vector<Row> all;
  for (const auto& rows :
       {UnaryRows(), ActivationRows(), RecurrentRows(), BinaryRows(), UpdateRows()}) {
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

}  // namespace caffe2::testing
