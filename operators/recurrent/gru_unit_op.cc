// GRUUnit: one step of a gated recurrent unit, after the matrix products.
//   h = sigmoid(u) h_prev + (1 - sigmoid(u)) tanh(g)
// with the gates in the order r, u, g. The reset gate r is part of the products that give g and is
// not used here (K. Cho et al., "Learning phrase representations using RNN encoder-decoder", 2014).
#include "caffe2/utils/simd.h"
#include "operators/recurrent/recurrent_unit.h"

namespace caffe2 {
namespace {

CAFFE2_SIMD_CLONES void GruRow(int64_t d, const float* x, const float* h_prev, float* h) {
#pragma omp simd
  for (int64_t j = 0; j < d; ++j) h[j] = GruStep(x + j, d, h_prev[j]);
}

CAFFE2_SIMD_CLONES void GruGradientRow(int64_t d, const float* x, const float* h_prev,
                                       const float* dh, float* dx, float* dh_prev) {
#pragma omp simd
  for (int64_t j = 0; j < d; ++j) {
    GruStepGradient(x + j, d, h_prev[j], dh[j], dx + j, dh_prev + j);
  }
}

class GRUUnitOp final : public RecurrentUnitBase<CPUContext> {
 public:
  using RecurrentUnitBase::RecurrentUnitBase;

  bool RunOnDevice() override {
    int next = 0;
    const UnitStep step = ReadStep(H_PREV, 3, &next);
    const float *h_prev = Input(H_PREV).data<float>(), *x = Input(GATES).data<float>();
    float* h = OutputLike(0, H_PREV);
    const int64_t d = step.units;
    ParallelFor(step.rows, step.Grain(), [=, this](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        if (step.HasEnded(n)) {
          KeepOrDrop(drop_states_, d, h_prev + n * d, h + n * d);
        } else {
          GruRow(d, x + n * 3 * d, h_prev + n * d, h + n * d);
        }
      }
    });
    return true;
  }

 private:
  enum { H_PREV, GATES };
};

class GRUUnitGradientOp final : public RecurrentUnitBase<CPUContext> {
 public:
  using RecurrentUnitBase::RecurrentUnitBase;

  bool RunOnDevice() override {
    int next = 0;  // becomes the index of H; dH follows
    const UnitStep step = ReadStep(H_PREV, 3, &next);
    const float *h_prev = Input(H_PREV).data<float>(), *x = Input(GATES).data<float>(),
                *dh = DataLike(next + 1, H_PREV);
    float *dh_prev = OutputLike(DH_PREV, H_PREV), *dx = OutputLike(DGATES, GATES);
    const int64_t d = step.units;
    ParallelFor(step.rows, step.Grain(), [=, this](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        if (step.HasEnded(n)) {
          KeepOrDrop(drop_states_, d, dh + n * d, dh_prev + n * d);
          std::fill_n(dx + n * 3 * d, 3 * d, 0.f);
        } else {
          GruGradientRow(d, x + n * 3 * d, h_prev + n * d, dh + n * d, dx + n * 3 * d,
                         dh_prev + n * d);
        }
      }
    });
    return true;
  }

 private:
  enum { H_PREV, GATES };
  enum { DH_PREV, DGATES };
};

void DescribeGruInputs(OpSchema& schema) {
  schema.FillUsing(DescribeRecurrentUnit)
      .Input(0, "hidden_t_prev", "[1, N, D].")
      .Input(1, "gates", "[1, N, 3 D]: reset gate, which is not read, update gate and output.")
      .Input(2, "seq_lengths", "[N], int32: row n is active while timestep < seq_lengths[n].")
      .Input(3, "timestep", "One int32.");
}

}  // namespace

REGISTER_CPU_OPERATOR(GRUUnit, GRUUnitOp);
REGISTER_CPU_OPERATOR(GRUUnitGradient, GRUUnitGradientOp);

OPERATOR_SCHEMA(GRUUnit)
    .NumInputs(3, 4)
    .NumOutputs(1)
    .FillUsing(DescribeGruInputs)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in.at(0)};
    })
    .SetDoc(
        "One step of a gated recurrent unit, after the matrix products: h = sigmoid(u) h_prev + "
        "(1 - sigmoid(u)) tanh(g). Without lengths the timestep is input 2.")
    .Arg("forget_bias", "Accepted, without effect: the products that give the gates add biases.")
    .Output(0, "hidden_t", "[1, N, D].");
OPERATOR_SCHEMA(GRUUnitGradient)
    .NumInputs(5, 6)
    .NumOutputs(2)
    .FillUsing(DescribeGruInputs)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in.at(0), in.at(1)};
    })
    .SetDoc(
        "The gradient of GRUUnit. Without lengths, inputs 3 and later have the next lower index.")
    .Input(4, "hidden_t", "The output of GRUUnit.")
    .Input(5, "hidden_t_grad", "Its gradient.")
    .Output(0, "hidden_t_prev_grad", "[1, N, D].")
    .Output(1, "gates_grad", "[1, N, 3 D]; 0 for the reset gate.");

class GetGRUUnitGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    std::vector<std::string> inputs(Def().input().begin(), Def().input().end());
    inputs.insert(inputs.end(), {O(0), GO(0)});
    return SingleGradientDef("GRUUnitGradient", "", inputs, std::vector{GI(0), GI(1)});
  }
};
REGISTER_GRADIENT(GRUUnit, GetGRUUnitGradient);

}  // namespace caffe2
