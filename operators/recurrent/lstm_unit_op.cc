// LSTMUnit: one step of a long short-term memory, after the matrix products.
//   c = sigmoid(f + forget_bias) c_prev + sigmoid(i) tanh(g),  h = sigmoid(o) tanh(c)
// with the gates in the order i, f, o, g (S. Hochreiter, J. Schmidhuber, "Long short-term memory",
// Neural Computation 9, 1997; forget gate: F. Gers et al., "Learning to forget", 1999).
#include "caffe2/utils/simd.h"
#include "operators/recurrent/recurrent_unit.h"

namespace caffe2 {
namespace {

CAFFE2_SIMD_CLONES void LstmRow(int64_t d, float forget_bias, const float* x, const float* c_prev,
                                float* h, float* c) {
#pragma omp simd
  for (int64_t j = 0; j < d; ++j) LstmStep(x + j, d, forget_bias, c_prev[j], h + j, c + j);
}

CAFFE2_SIMD_CLONES void LstmGradientRow(int64_t d, float forget_bias, const float* x,
                                        const float* c_prev, const float* c, const float* dh,
                                        const float* dc, float* dx, float* dc_prev) {
#pragma omp simd
  for (int64_t j = 0; j < d; ++j) {
    LstmStepGradient(x + j, d, forget_bias, c_prev[j], c[j], dh[j], dc[j], dx + j, dc_prev + j);
  }
}

class LSTMUnitOp final : public RecurrentUnitBase<CPUContext> {
 public:
  LSTMUnitOp(const OperatorDef& def, Workspace* ws)
      : RecurrentUnitBase(def, ws), forget_bias_(GetSingleArgument<float>("forget_bias", 0.f)) {}

  bool RunOnDevice() override {
    int next = 0;
    const UnitStep step = ReadStep(C_PREV, 4, &next);
    const float *h_prev = DataLike(H_PREV, C_PREV), *c_prev = Input(C_PREV).data<float>(),
                *x = Input(GATES).data<float>();
    float *h = OutputLike(H, C_PREV), *c = OutputLike(C, C_PREV);
    const int64_t d = step.units;
    ParallelFor(step.rows, step.Grain(), [=, this](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        if (step.HasEnded(n)) {
          KeepOrDrop(drop_states_, d, h_prev + n * d, h + n * d);
          KeepOrDrop(drop_states_, d, c_prev + n * d, c + n * d);
        } else {
          LstmRow(d, forget_bias_, x + n * 4 * d, c_prev + n * d, h + n * d, c + n * d);
        }
      }
    });
    return true;
  }

 private:
  enum { H_PREV, C_PREV, GATES };
  enum { H, C };
  float forget_bias_;
};

class LSTMUnitGradientOp final : public RecurrentUnitBase<CPUContext> {
 public:
  LSTMUnitGradientOp(const OperatorDef& def, Workspace* ws)
      : RecurrentUnitBase(def, ws), forget_bias_(GetSingleArgument<float>("forget_bias", 0.f)) {}

  bool RunOnDevice() override {
    int next = 0;  // becomes the index of H; C, dH and dC follow
    const UnitStep step = ReadStep(C_PREV, 4, &next);
    const float *c_prev = Input(C_PREV).data<float>(), *x = Input(GATES).data<float>(),
                *c = DataLike(next + 1, C_PREV), *dh = DataLike(next + 2, C_PREV),
                *dc = DataLike(next + 3, C_PREV);
    float *dh_prev = OutputLike(DH_PREV, H_PREV), *dc_prev = OutputLike(DC_PREV, C_PREV),
          *dx = OutputLike(DGATES, GATES);
    const int64_t d = step.units;
    ParallelFor(step.rows, step.Grain(), [=, this](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        if (step.HasEnded(n)) {
          KeepOrDrop(drop_states_, d, dh + n * d, dh_prev + n * d);
          KeepOrDrop(drop_states_, d, dc + n * d, dc_prev + n * d);
          std::fill_n(dx + n * 4 * d, 4 * d, 0.f);
        } else {
          // The previous hidden state acts through the gates only.
          std::fill_n(dh_prev + n * d, d, 0.f);
          LstmGradientRow(d, forget_bias_, x + n * 4 * d, c_prev + n * d, c + n * d, dh + n * d,
                          dc + n * d, dx + n * 4 * d, dc_prev + n * d);
        }
      }
    });
    return true;
  }

 private:
  enum { H_PREV, C_PREV, GATES };
  enum { DH_PREV, DC_PREV, DGATES };
  float forget_bias_;
};

void DescribeLstmInputs(OpSchema& schema) {
  schema.FillUsing(DescribeRecurrentUnit)
      .Arg<float>("forget_bias", "(default 0) Added to the forget gate.")
      .Input(0, "hidden_t_prev", "[1, N, D], read for rows whose sequence has ended.")
      .Input(1, "cell_t_prev", "[1, N, D].")
      .Input(2, "gates", "[1, N, 4 D]: input, forget and output gate and cell input.")
      .Input(3, "seq_lengths", "[N], int32: row n is active while timestep < seq_lengths[n].")
      .Input(4, "timestep", "One int32.");
}

}  // namespace

REGISTER_CPU_OPERATOR(LSTMUnit, LSTMUnitOp);
REGISTER_CPU_OPERATOR(LSTMUnitGradient, LSTMUnitGradientOp);

OPERATOR_SCHEMA(LSTMUnit)
    .NumInputs(4, 5)
    .NumOutputs(2)
    .FillUsing(DescribeLstmInputs)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in.at(1), in.at(1)};
    })
    .SetDoc(
        "One step of an LSTM, after the matrix products: c = sigmoid(f + forget_bias) c_prev + "
        "sigmoid(i) tanh(g), h = sigmoid(o) tanh(c). Without lengths the timestep is input 3.")
    .Output(0, "hidden_t", "[1, N, D].")
    .Output(1, "cell_t", "[1, N, D].");
OPERATOR_SCHEMA(LSTMUnitGradient)
    .NumInputs(8, 9)
    .NumOutputs(3)
    .FillUsing(DescribeLstmInputs)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in.at(0), in.at(1), in.at(2)};
    })
    .SetDoc(
        "The gradient of LSTMUnit. Without lengths, inputs 4 and later have the next lower index.")
    .Input(5, "hidden_t", "The first output of LSTMUnit.")
    .Input(6, "cell_t", "Its second output.")
    .Input(7, "hidden_t_grad", "Gradient of hidden_t.")
    .Input(8, "cell_t_grad", "Gradient of cell_t.")
    .Output(0, "hidden_t_prev_grad", "[1, N, D].")
    .Output(1, "cell_t_prev_grad", "[1, N, D].")
    .Output(2, "gates_grad", "[1, N, 4 D].");

class GetLSTMUnitGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    std::vector<std::string> inputs(Def().input().begin(), Def().input().end());
    inputs.insert(inputs.end(), {O(0), O(1), GO(0), GO(1)});
    return SingleGradientDef("LSTMUnitGradient", "", inputs, std::vector{GI(0), GI(1), GI(2)});
  }
};
REGISTER_GRADIENT(LSTMUnit, GetLSTMUnitGradient);

}  // namespace caffe2
