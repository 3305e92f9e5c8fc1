#include "operators/sequence/sequence_mask_op.h"

#include <algorithm>

namespace caffe2 {
namespace {

// The columns of a row that are not masked: in all modes they follow each other.
struct KeptColumns {
  template <typename T>
  KeptColumns(const MaskElements<T>& m, int64_t row) : end(m.columns) {
    switch (m.mode) {
      case MaskMode::kSequence:
        end = m.entry[row];
        break;
      case MaskMode::kWindow: {
        const int64_t radius = std::min(m.radius, int64_t{1} << 60);  // the sums must not overflow
        begin = m.entry[row] - radius;
        end = m.entry[row] + radius + 1;
        break;
      }
      case MaskMode::kUpper:
        end = row + 1;
        break;
      case MaskMode::kLower:
        begin = row;
        break;
      case MaskMode::kUpperDiagonal:
        end = row;
        break;
      case MaskMode::kLowerDiagonal:
        begin = row + 1;
        break;
    }
    begin = std::clamp<int64_t>(begin, 0, m.columns);
    end = std::clamp<int64_t>(end, begin, m.columns);
  }
  int64_t begin = 0, end;
};

// Masked positions get no gradient: the same operator with grad=1 fills them with 0.
class GetSequenceMaskGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  bool CopyArguments() const override { return false; }
  std::vector<OperatorDef> GetGradientDefs() override {
    std::vector<std::string> inputs{GO(0)};
    if (Def().input_size() > 1) inputs.push_back(I(1));
    std::vector<Argument> args(Def().arg().begin(), Def().arg().end());
    args.push_back(MakeArgument("grad", true));
    return SingleGradientDef("SequenceMask", "", inputs, std::vector<std::string>{GI(0)}, args);
  }
};

}  // namespace

template <typename T>
void WriteMasked(const MaskElements<T>& elements, int64_t n, CPUContext* /*context*/) {
  if (n == 0) return;
  const int64_t width = elements.columns * elements.repeats;
  const T fill = host_device::Narrow<T>(elements.fill);
  ParallelFor(n / width, RowGrain(width, kElementGrain), [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      const KeptColumns kept(elements, row % elements.rows);
      const int64_t begin = kept.begin * elements.repeats, end = kept.end * elements.repeats;
      const T* x = elements.x + row * width;
      T* y = elements.y + row * width;
      std::fill(y, y + begin, fill);
      if (y != x) std::copy(x + begin, x + end, y + begin);
      std::fill(y + end, y + width, fill);
    }
  });
}

REGISTER_CPU_OPERATOR(SequenceMask, SequenceMaskOp<CPUContext>);
OPERATOR_SCHEMA(SequenceMask)
    .NumInputs(1, 2)
    .NumOutputs(1)
    .AllowInplace({{0, 0}})
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "Takes the input as rows (axes before `axis`) and columns (other axes) and writes fill_val "
        "at the positions that the mode selects: sequence: column >= length[row]; window: |column "
        "- center[row]| > radius; upper: column > row; lower: column < row; upperdiag: column >= "
        "row; lowerdiag: column <= row.")
    .ArgOneOf("mode", {"sequence", "window", "upper", "lower", "upperdiag", "lowerdiag"},
              "Which positions are masked.", true)
    .Arg<int>("axis", "(default 1) The first axis of the columns.")
    .Arg<int>("radius", "(>= 0, default 10) Half the width of a window.")
    .Arg<int>(
        "batch",
        "(>= -1) The axes up to this one are a batch: rows count within each. Default (and -1): "
        "no batch.")
    .Arg<int>("repeat_from_axis", "The mask is the same along this axis and the axes after it.")
    .Arg<float>("fill_val", "(default -infinity) The value of masked positions.")
    .Arg<bool>("grad", "1: masked positions become 0. For the gradient.")
    .Input(0, "input", "A tensor of float, float16 or bfloat16.")
    .Input(1, "sequence_lengths",
           "int32: lengths (mode sequence) or centers (mode window), one for each row.")
    .Output(0, "masked_tensor", "The result, shaped like the input; may overwrite it.");
REGISTER_GRADIENT(SequenceMask, GetSequenceMaskGradient);

}  // namespace caffe2
