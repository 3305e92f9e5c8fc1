// TTSparseLengthsSum: sums of rows of an embedding that is a tensor train of three cores (Yin et
// al., "TT-Rec", 2021).
#include <algorithm>

#include "caffe2/core/operator.h"
#include "caffe2/utils/math.h"
#include "operators/gradient_rule.h"
#include "operators/indices.h"

namespace caffe2 {
namespace {

constexpr int kCores = 3;

// The sizes of cores [rows_k, rank_k, width_k, rank_(k+1)]; the outer ranks are 1.
struct TrainShape {
  int64_t rows[kCores] = {}, width[kCores] = {}, rank[kCores + 1] = {};

  int64_t embedding() const { return width[0] * width[1] * width[2]; }
  int64_t slice(int k) const { return rank[k] * width[k] * rank[k + 1]; }  // of core k

  // Throws, naming shapes, unless the three inputs from `first` on fit together.
  template <class Op>
  static TrainShape Of(const Op& op, int first) {
    TrainShape shape;
    shape.rank[0] = 1;
    for (int k = 0; k < kCores; ++k) {
      const Tensor& core = op.Input(first + k);
      CAFFE_ENFORCE(core.dim() == 4 && core.size(1) == shape.rank[k], "core ", k, " ",
                    ShapeString(core.sizes()), " must be rows x ", shape.rank[k],
                    " x width x rank");
      shape.rows[k] = core.size(0);
      shape.width[k] = core.size(2);
      shape.rank[k + 1] = core.size(3);
    }
    CAFFE_ENFORCE_EQ(shape.rank[kCores], 1, "the rank behind the last core");
    return shape;
  }
};

// Throws unless the lengths, none of them negative, are those of n items.
const int32_t* CheckLengths(const Tensor& lengths, int64_t n) {
  const int32_t* length = lengths.data<int32_t>();
  int64_t total = 0;
  for (int64_t s = 0; s < lengths.numel(); ++s) {
    CAFFE_ENFORCE_GE(length[s], 0, "length ", s);
    total += length[s];
  }
  CAFFE_ENFORCE_EQ(total, n, "the sum of lengths and the number of indices");
  return length;
}

class TtSparseLengthsSumOp final : public Operator<CPUContext> {
 public:
  TtSparseLengthsSumOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        rows_(GetRepeatedArgument<int64_t>("factor_i")),
        widths_(GetRepeatedArgument<int64_t>("factor_j")),
        ranks_(GetRepeatedArgument<int64_t>("ranks")),
        embedding_(GetSingleArgument<int64_t>("emb_size", 64)) {}

  bool RunOnDevice() override {
    const TrainShape shape = TrainShape::Of(*this, 0);
    CheckArguments(shape);
    const std::vector<int64_t> indices =
        ReadIndices(Input(3), CheckedNumel({shape.rows[0], shape.rows[1], shape.rows[2]}));
    const auto n = static_cast<int64_t>(indices.size());
    const int32_t* lengths = CheckLengths(Input(4), n);
    Output(0)->Resize(Input(4).numel(), shape.embedding());
    Output(1)->Resize(n, shape.width[0], shape.rank[1]);
    Output(2)->Resize(n, shape.width[0] * shape.width[1], shape.rank[2]);
    Output(3)->Resize(n, kCores);
    float *y = Output(0)->mutable_data<float>(), *first = Output(1)->mutable_data<float>(),
          *second = Output(2)->mutable_data<float>();
    int64_t* places = Output(3)->mutable_data<int64_t>();
    std::fill_n(y, Output(0)->numel(), 0.f);
    std::vector<float> row(shape.embedding());
    int64_t i = 0;
    for (int64_t s = 0; s < Input(4).numel(); ++s, y += shape.embedding()) {
      for (int32_t j = 0; j < lengths[s]; ++j, ++i) {
        int64_t rest = indices[i];
        for (int k = kCores - 1; k >= 0; --k, rest /= shape.rows[k + 1]) {
          places[i * kCores + k] = rest % shape.rows[k];
        }
        MakeRow(shape, places + i * kCores, first + i * shape.slice(0),
                second + i * shape.width[0] * shape.width[1] * shape.rank[2], row.data());
        for (int64_t e = 0; e < shape.embedding(); ++e) y[e] += row[e];
      }
    }
    return true;
  }

 private:
  void CheckArguments(const TrainShape& shape) const {
    const auto check = [](const char* name, const std::vector<int64_t>& given, const int64_t* own,
                          int count) {
      CAFFE_ENFORCE(given.empty() || given == std::vector<int64_t>(own, own + count), "argument ",
                    name, " is ", ShapeString(given), ", but the cores have ",
                    ShapeString(std::vector<int64_t>(own, own + count)));
    };
    check("factor_i", rows_, shape.rows, kCores);
    check("factor_j", widths_, shape.width, kCores);
    check("ranks", ranks_, shape.rank, kCores + 1);
    CAFFE_ENFORCE_EQ(embedding_, shape.embedding(), "argument emb_size and the cores");
  }
  // first = G_0, second = G_0 G_1, row = G_0 G_1 G_2, of the slices at `place`.
  void MakeRow(const TrainShape& s, const int64_t* place, float* first, float* second, float* row) {
    const auto core = [&](int k) { return Input(k).data<float>() + place[k] * s.slice(k); };
    std::copy_n(core(0), s.slice(0), first);
    math::Gemm(false, false, s.width[0], s.width[1] * s.rank[2], s.rank[1], 1.f, first, core(1),
               0.f, second, &context_);
    math::Gemm(false, false, s.width[0] * s.width[1], s.width[2], s.rank[2], 1.f, second, core(2),
               0.f, row, &context_);
  }

  std::vector<int64_t> rows_, widths_, ranks_;
  int64_t embedding_;
};

// With E the gradient of a row, as a matrix like the last product:
//   dG_2 += (G_0 G_1)^T E,  D = E G_2^T,  dG_1 += G_0^T D,  dG_0 += D G_1^T
class TtSparseLengthsSumGradientOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;

  bool RunOnDevice() override {
    const TrainShape s = TrainShape::Of(*this, 0);
    const Tensor &lengths = Input(3), &first = Input(4), &second = Input(5), &places = Input(6),
                 &dY = Input(7);
    const int64_t n = places.numel() / kCores;
    const int64_t second_size = s.width[0] * s.width[1] * s.rank[2];
    CAFFE_ENFORCE(places.dim() == 2 && places.size(1) == kCores &&
                      first.numel() == n * s.slice(0) && second.numel() == n * second_size,
                  "core0_output ", ShapeString(first.sizes()), " and core1_output ",
                  ShapeString(second.sizes()), " for indices ", ShapeString(places.sizes()));
    CAFFE_ENFORCE_EQ(dY.numel(), lengths.numel() * s.embedding(), "dY ", ShapeString(dY.sizes()));
    const int32_t* length = CheckLengths(lengths, n);
    const auto* place = places.data<int64_t>();
    for (int64_t i = 0; i < n * kCores; ++i) {
      CAFFE_ENFORCE(place[i] >= 0 && place[i] < s.rows[i % kCores], "index ", place[i], " of core ",
                    i % kCores, " of ", s.rows[i % kCores], " rows");
    }
    for (int k = 0; k < kCores; ++k) {
      Output(k)->ResizeLike(Input(k));
      std::fill_n(Output(k)->mutable_data<float>(), Output(k)->numel(), 0.f);
    }
    const float* dy = dY.data<float>();
    int64_t i = 0;
    for (int64_t segment = 0; segment < lengths.numel(); ++segment, dy += s.embedding()) {
      for (int32_t j = 0; j < length[segment]; ++j, ++i) {
        AddRow(s, place + i * kCores, first.data<float>() + i * s.slice(0),
               second.data<float>() + i * second_size, dy);
      }
    }
    return true;
  }

 private:
  void AddRow(const TrainShape& s, const int64_t* place, const float* first, const float* second,
              const float* dy) {
    const auto core = [&](int k) { return Input(k).data<float>() + place[k] * s.slice(k); };
    const auto gradient = [&](int k) {
      return Output(k)->mutable_data<float>() + place[k] * s.slice(k);
    };
    const int64_t outer = s.width[0] * s.width[1], inner = s.width[1] * s.rank[2];
    d_second_.resize(outer * s.rank[2]);
    math::Gemm(true, false, s.rank[2], s.width[2], outer, 1.f, second, dy, 1.f, gradient(2),
               &context_);
    math::Gemm(false, true, outer, s.rank[2], s.width[2], 1.f, dy, core(2), 0.f, d_second_.data(),
               &context_);
    math::Gemm(true, false, s.rank[1], inner, s.width[0], 1.f, first, d_second_.data(), 1.f,
               gradient(1), &context_);
    math::Gemm(false, true, s.width[0], s.rank[1], inner, 1.f, d_second_.data(), core(1), 1.f,
               gradient(0), &context_);
  }

  std::vector<float> d_second_;
};

}  // namespace

REGISTER_CPU_OPERATOR(TTSparseLengthsSum, TtSparseLengthsSumOp);
REGISTER_CPU_OPERATOR(TTSparseLengthsSumGradient, TtSparseLengthsSumGradientOp);

OPERATOR_SCHEMA(TTSparseLengthsSum)
    .NumInputs(5)
    .NumOutputs(4)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      for (int k = 0; k < kCores; ++k) CAFFE_ENFORCE_EQ(in[k].dims_size(), 4, "axes of core ", k);
      const int64_t n = NumelOf(in[3]), w0 = in[0].dims(2), w1 = in[1].dims(2), w2 = in[2].dims(2);
      return std::vector<TensorShape>{
          CreateTensorShape({NumelOf(in[4]), w0 * w1 * w2}, TensorProto::FLOAT),
          CreateTensorShape({n, w0, in[0].dims(3)}, TensorProto::FLOAT),
          CreateTensorShape({n, w0 * w1, in[1].dims(3)}, TensorProto::FLOAT),
          CreateTensorShape({n, kCores}, TensorProto::INT64)};
    })
    .SetDoc(
        "Sums of rows of an embedding that is kept as a tensor train of three cores: row (i0 * I1 "
        "+ "
        "i1) * I2 + i2 is the product of the matrices core0[i0], core1[i1] and core2[i2], "
        "flattened "
        "(Yin et al., \"TT-Rec\", 2021).")
    .Arg("factor_i", "(3 ints) I0, I1 and I2, as the cores have them.")
    .Arg("factor_j", "(3 ints) The widths J0, J1 and J2, as the cores have them.")
    .Arg("ranks", "(4 ints) 1, R1, R2 and 1, as the cores have them.")
    .Arg("emb_size", "(int, default 64) J0 * J1 * J2, the size of a row.")
    .Input(0, "core0", "Float, I0 x 1 x J0 x R1.")
    .Input(1, "core1", "Float, I1 x R1 x J1 x R2.")
    .Input(2, "core2", "Float, I2 x R2 x J2 x 1.")
    .Input(3, "index", "Int32 or int64: rows of the embedding.")
    .Input(4, "lengths", "Int32: how many of them each sum has.")
    .Output(0, "OUTPUT", "Float, one row of emb_size a length.")
    .Output(1, "core0_output", "Float, for the gradient: core0[i0] of each index.")
    .Output(2, "core1_output", "Float, for the gradient: core0[i0] core1[i1] of each index.")
    .Output(3, "indices", "Int64, for the gradient: i0, i1 and i2 of each index.");
OPERATOR_SCHEMA(TTSparseLengthsSumGradient)
    .NumInputs(8)
    .NumOutputs(3)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>(in.begin(), in.begin() + kCores);
    })
    .SetDoc("The gradients of TTSparseLengthsSum, dense.")
    .Input(0, "core0", "As in the forward operator.")
    .Input(1, "core1", "As in the forward operator.")
    .Input(2, "core2", "As in the forward operator.")
    .Input(3, "lengths", "As in the forward operator.")
    .Input(4, "core0_output", "The forward operator's second output.")
    .Input(5, "core1_output", "Its third output.")
    .Input(6, "indices", "Its fourth output.")
    .Input(7, "dY", "The gradient of its first output.")
    .Output(0, "dCore0", "The gradient of core0.")
    .Output(1, "dCore1", "The gradient of core1.")
    .Output(2, "dCore2", "The gradient of core2.");
REGISTER_GRADIENT(TTSparseLengthsSum, GradientRule<"I0 I1 I2 I4 O1 O2 O3 GO0 -> GI0 GI1 GI2">);

}  // namespace caffe2
