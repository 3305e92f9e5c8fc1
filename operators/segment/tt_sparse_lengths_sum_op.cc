// TTSparseLengthsSum: sums of rows of an embedding that is a tensor train of three cores (Yin et
// al., "TT-Rec", 2021).
#include "operators/segment/tt_sparse_lengths_sum_op.h"

#include <algorithm>

#include "caffe2/utils/math.h"
#include "operators/common/gradient_rule.h"
#include "operators/common/indices.h"
#include "operators/segment/segments.h"

namespace caffe2 {
namespace {

// The segments of n items. Throws EnforceNotMet unless lengths are int32 and add up to n.
Segments ReadSums(const Tensor& lengths, int64_t n) {
  lengths.data<int32_t>();
  return Segments::FromLengths(lengths, n);
}

class TtSparseLengthsSumOp final : public Operator<CPUContext> {
 public:
  TtSparseLengthsSumOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), arguments_(*this) {}

  bool RunOnDevice() override {
    const TensorTrainShape shape = ReadTensorTrainShape(*this);
    arguments_.Check(shape);
    const std::vector<int64_t> indices =
        ReadIndices(Input(3), CheckedNumel({shape.rows[0], shape.rows[1], shape.rows[2]}));
    const auto n = static_cast<int64_t>(indices.size());
    const Segments sums = ReadSums(Input(4), n);
    Output(0)->Resize(sums.count(), shape.embedding());
    Output(1)->Resize(n, shape.width[0], shape.rank[1]);
    Output(2)->Resize(n, shape.outer(), shape.rank[2]);
    Output(3)->Resize(n, kTensorTrainCores);
    float *y = Output(0)->mutable_data<float>(), *first = Output(1)->mutable_data<float>(),
          *second = Output(2)->mutable_data<float>();
    int64_t* places = Output(3)->mutable_data<int64_t>();
    std::fill_n(y, Output(0)->numel(), 0.f);
    std::vector<float> row(shape.embedding());
    for (int64_t s = 0; s < sums.count(); ++s, y += shape.embedding()) {
      for (int64_t i = sums.Offsets()[s]; i < sums.Offsets()[s + 1]; ++i) {
        int64_t rest = indices[i];
        for (int k = kTensorTrainCores - 1; k >= 0; --k, rest /= shape.rows[k + 1]) {
          places[i * kTensorTrainCores + k] = rest % shape.rows[k];
        }
        MakeRow(shape, places + i * kTensorTrainCores, first + i * shape.slice(0),
                second + i * shape.second(), row.data());
        for (int64_t e = 0; e < shape.embedding(); ++e) y[e] += row[e];
      }
    }
    return true;
  }

 private:
  // first = G_0, second = G_0 G_1, row = G_0 G_1 G_2, of the slices at `place`.
  void MakeRow(const TensorTrainShape& s, const int64_t* place, float* first, float* second,
               float* row) {
    const auto core = [&](int k) { return Input(k).data<float>() + place[k] * s.slice(k); };
    std::copy_n(core(0), s.slice(0), first);
    math::Gemm(false, false, s.width[0], s.width[1] * s.rank[2], s.rank[1], 1.f, first, core(1),
               0.f, second, &context_);
    math::Gemm(false, false, s.width[0] * s.width[1], s.width[2], s.rank[2], 1.f, second, core(2),
               0.f, row, &context_);
  }

  const TensorTrainArguments arguments_;
};

// With E the gradient of a row, as a matrix like the last product:
//   dG_2 += (G_0 G_1)^T E,  D = E G_2^T,  dG_1 += G_0^T D,  dG_0 += D G_1^T
class TtSparseLengthsSumGradientOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;

  bool RunOnDevice() override {
    const TensorTrainShape s = ReadTensorTrainShape(*this);
    const int64_t n = CheckTensorTrainGradient(*this, s);
    const Segments sums = ReadSums(Input(3), n);
    const auto* place = Input(6).data<int64_t>();
    for (int64_t i = 0; i < n * kTensorTrainCores; ++i) {
      const int64_t rows = s.rows[i % kTensorTrainCores];
      CAFFE_ENFORCE(place[i] >= 0 && place[i] < rows, "index ", place[i], " at position ",
                    i / kTensorTrainCores, " is out of range for ", rows, " rows");
    }
    for (int k = 0; k < kTensorTrainCores; ++k) {
      Output(k)->ResizeLike(Input(k));
      std::fill_n(Output(k)->mutable_data<float>(), Output(k)->numel(), 0.f);
    }
    const auto *first = Input(4).data<float>(), *second = Input(5).data<float>(),
               *dy = Input(7).data<float>();
    for (int64_t segment = 0; segment < sums.count(); ++segment, dy += s.embedding()) {
      for (int64_t i = sums.Offsets()[segment]; i < sums.Offsets()[segment + 1]; ++i) {
        AddRow(s, place + i * kTensorTrainCores, first + i * s.slice(0), second + i * s.second(),
               dy);
      }
    }
    return true;
  }

 private:
  void AddRow(const TensorTrainShape& s, const int64_t* place, const float* first,
              const float* second, const float* dy) {
    const auto core = [&](int k) { return Input(k).data<float>() + place[k] * s.slice(k); };
    const auto gradient = [&](int k) {
      return Output(k)->mutable_data<float>() + place[k] * s.slice(k);
    };
    const int64_t outer = s.outer(), inner = s.inner();
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
      for (int k = 0; k < kTensorTrainCores; ++k)
        CAFFE_ENFORCE(in[k].dims_size() == 4, "core ", k, " must have four axes, found ",
                      in[k].dims_size());
      const int64_t n = NumelOf(in[3]), w0 = in[0].dims(2), w1 = in[1].dims(2), w2 = in[2].dims(2);
      return std::vector<TensorShape>{
          CreateTensorShape({NumelOf(in[4]), w0 * w1 * w2}, TensorProto::FLOAT),
          CreateTensorShape({n, w0, in[0].dims(3)}, TensorProto::FLOAT),
          CreateTensorShape({n, w0 * w1, in[1].dims(3)}, TensorProto::FLOAT),
          CreateTensorShape({n, kTensorTrainCores}, TensorProto::INT64)};
    })
    .SetDoc(
        "Sums of rows of an embedding that is a tensor train of three cores: row (i0 * I1 + i1) * "
        "I2 + i2 is the product of the matrices core0[i0], core1[i1] and core2[i2], flattened "
        "(Yin et al., \"TT-Rec\", 2021).")
    .ArgList<int>("factor_i", "(3 numbers) I0, I1 and I2; they must match the cores.")
    .ArgList<int>("factor_j", "(3 numbers) The widths J0, J1 and J2; they must match the cores.")
    .ArgList<int>("ranks", "(4 numbers) 1, R1, R2 and 1; they must match the cores.")
    .Arg<int>("emb_size", "(default 64) J0 * J1 * J2, the size of a row.")
    .Input(0, "core0", "Float, I0 x 1 x J0 x R1.")
    .Input(1, "core1", "Float, I1 x R1 x J1 x R2.")
    .Input(2, "core2", "Float, I2 x R2 x J2 x 1.")
    .Input(3, "index", "Int32 or int64: rows of the embedding.")
    .Input(4, "lengths", "Int32: the number of rows of each sum.")
    .Output(0, "OUTPUT", "Float, one row of emb_size for each length.")
    .Output(1, "core0_output", "Float, for the gradient: core0[i0] of each index.")
    .Output(2, "core1_output", "Float, for the gradient: core0[i0] core1[i1] of each index.")
    .Output(3, "indices", "Int64, for the gradient: i0, i1 and i2 of each index.");
OPERATOR_SCHEMA(TTSparseLengthsSumGradient)
    .NumInputs(8)
    .NumOutputs(3)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>(in.begin(), in.begin() + kTensorTrainCores);
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
