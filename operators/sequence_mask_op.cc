// SequenceMask: fills positions of a batch of matrices that attention must not see.
#include "operators/element_type.h"

namespace caffe2 {
namespace {

enum class MaskMode { kSequence, kWindow, kUpper, kLower, kUpperDiagonal, kLowerDiagonal };

MaskMode ReadMode(const std::string& mode) {
  if (mode == "sequence") return MaskMode::kSequence;
  if (mode == "window") return MaskMode::kWindow;
  if (mode == "upper") return MaskMode::kUpper;
  if (mode == "lower") return MaskMode::kLower;
  if (mode == "upperdiag") return MaskMode::kUpperDiagonal;
  if (mode == "lowerdiag") return MaskMode::kLowerDiagonal;
  CAFFE_THROW("mode is \"", mode, "\"; known: sequence window upper lower upperdiag lowerdiag");
}

template <class Context>
class SequenceMaskOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SequenceMaskOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        mode_(ReadMode(this->template GetSingleArgument<std::string>("mode", ""))),
        axis_(this->template GetSingleArgument<int>("axis", 1)),
        radius_(this->template GetSingleArgument<int64_t>("radius", 10)),
        batch_(this->template GetSingleArgument<int>("batch", -1)),
        repeat_from_(this->template GetSingleArgument<int>("repeat_from_axis", 0)),
        has_repeat_(this->HasArgument("repeat_from_axis")),
        backward_(this->template GetSingleArgument<bool>("grad", false)),
        fill_(backward_ ? 0.f
                        : this->template GetSingleArgument<float>(
                              "fill_val", -std::numeric_limits<float>::infinity())) {
    CAFFE_ENFORCE_GE(radius_, 0, "the argument radius");
    CAFFE_ENFORCE_GE(batch_, -1, "the argument batch");
  }

  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const int axis = X.canonical_axis_index(axis_);
    // X is [batches, rows, columns, repeats]; the mask depends on rows and columns only.
    const int end = has_repeat_ ? X.canonical_axis_index(repeat_from_) : X.dim();
    CAFFE_ENFORCE_LE(axis, end, "repeat_from_axis must not be before the axis");
    CAFFE_ENFORCE_LT(batch_, axis, "the argument batch must be an axis before ", axis);
    const int64_t repeats = X.size_from_dim(end);
    const int64_t columns = repeats == 0 ? 0 : X.size_from_dim(axis) / repeats;
    const int64_t all_rows = X.size_to_dim(axis), batches = X.size_to_dim(batch_ + 1);
    const int64_t rows = batches == 0 ? 0 : all_rows / batches;
    const int* entry = nullptr;
    if (mode_ == MaskMode::kSequence || mode_ == MaskMode::kWindow) {
      CAFFE_ENFORCE_EQ(InputSize(), 2, "the modes sequence and window need a second input");
      CAFFE_ENFORCE_EQ(Input(1).numel(), rows, "elements of the second input, for data ",
                       ShapeString(X.sizes()));
      entry = Input(1).template data<int>();
    }
    const float* x = X.data<float>();
    Tensor* Y = Output(0);
    Y->ResizeLike(X);
    float* y = Y->template mutable_data<float>();
    for (int64_t i = 0; i < all_rows; ++i) {
      for (int64_t j = 0; j < columns; ++j, x += repeats, y += repeats) {
        if (Masked(i % rows, j, entry)) {
          std::fill_n(y, repeats, fill_);
        } else {
          context_.Copy(repeats, x, y);
        }
      }
    }
    return true;
  }

 private:
  bool Masked(int64_t row, int64_t column, const int* entry) const {
    switch (mode_) {
      case MaskMode::kSequence:
        return column >= entry[row];
      case MaskMode::kWindow:
        return std::abs(column - entry[row]) > radius_;
      case MaskMode::kUpper:
        return column > row;
      case MaskMode::kLower:
        return column < row;
      case MaskMode::kUpperDiagonal:
        return column >= row;
      case MaskMode::kLowerDiagonal:
        return column <= row;
    }
    return false;
  }

  MaskMode mode_;
  int axis_;
  int64_t radius_;
  int batch_, repeat_from_;
  bool has_repeat_, backward_;
  float fill_;
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

REGISTER_CPU_OPERATOR(SequenceMask, SequenceMaskOp<CPUContext>);
OPERATOR_SCHEMA(SequenceMask)
    .NumInputs(1, 2)
    .NumOutputs(1)
    .AllowInplace({{0, 0}})
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "Seen as rows (axes before `axis`) and columns (from `axis`), writes fill_val where, by "
        "mode: sequence: column >= length[row]; window: |column - center[row]| > radius; upper: "
        "column > row; lower: column < row; upperdiag: column >= row; lowerdiag: column <= row.")
    .Arg("mode", "sequence, window, upper, lower, upperdiag or lowerdiag.", true)
    .Arg("axis", "(int, default 1) Where the columns begin.")
    .Arg("radius", "(int >= 0, default 10) Half the width of a window.")
    .Arg("batch",
         "(int) The axes up to this one are a batch: rows count within each. Default: no batch.")
    .Arg("repeat_from_axis", "(int) The mask is the same along this axis and those behind it.")
    .Arg("fill_val", "(float, default -infinity) What masked positions become.")
    .Arg("grad", "1: masked positions become 0. For the gradient.")
    .Input(0, "input", "A float tensor.")
    .Input(1, "sequence_lengths",
           "int32: lengths (mode sequence) or centers (mode window), one for each row.")
    .Output(0, "masked_tensor", "The result, shaped like the input; may overwrite it.");
REGISTER_GRADIENT(SequenceMask, GetSequenceMaskGradient);

}  // namespace caffe2
