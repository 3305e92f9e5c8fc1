// AddPadding, RemovePadding, GatherPadding: rows before and behind each segment.
#include "caffe2/core/operator.h"
#include "operators/gradient_rule.h"
#include "operators/row_copier.h"
#include "operators/segments.h"

namespace caffe2 {
namespace {

// What the operators of this file share. Without lengths all rows are one segment.
class PaddingBase : public Operator<CPUContext> {
 public:
  PaddingBase(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        start_(GetSingleArgument<int>("padding_width", 1)),
        end_(GetSingleArgument<int>("end_padding_width", -1)) {
    CAFFE_ENFORCE_GE(start_, 0, "the argument padding_width");
    if (end_ < 0) end_ = start_;
  }

 protected:
  // The segments of X's rows; lengths are input `i`, if there is one.
  Segments ReadSegments(const Tensor& X, int i) const {
    CAFFE_ENFORCE(X.dim() >= 1 && X.has_data(), "the data must have rows");
    if (InputSize() > i) return Segments::FromLengths(Input(i), X.size(0));
    return Segments::FromLengths(Tensor({1}, std::vector<int64_t>{X.size(0)}));
  }
  // Writes the lengths of all segments, each `more` longer, with the type of those read.
  void WriteLengths(const Segments& segments, int64_t more, int i, Tensor* lengths) const {
    lengths->Resize(segments.count());
    const bool wide = InputSize() > i && Input(i).IsType<int64_t>();
    for (int64_t s = 0; s < segments.count(); ++s) {
      const int64_t length = segments.length(s) + more;
      if (wide) {
        lengths->mutable_data<int64_t>()[s] = length;
      } else {
        lengths->mutable_data<int32_t>()[s] = static_cast<int32_t>(length);
      }
    }
    if (segments.count() == 0 && !wide) lengths->mutable_data<int32_t>();
  }

  int64_t start_, end_;
};

class AddPaddingOp final : public PaddingBase {
 public:
  using PaddingBase::PaddingBase;
  bool RunOnDevice() override {
    return TensorTypes<float, double, int32_t, int64_t, bool>::Dispatch(this, Input(0).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    const Segments segments = ReadSegments(X, 1);
    const int64_t width = X.size_from_dim(1);
    const T *before = ReadPad<T>(2, width),
            *behind = InputSize() > 3 ? ReadPad<T>(3, width) : before;
    std::vector<int64_t> dims = X.sizes();
    dims[0] += segments.count() * (start_ + end_);
    Tensor* Y = Output(0);
    Y->Resize(dims);
    const T* x = X.data<T>();
    T* y = Y->mutable_data<T>();
    const auto pad = [&](int64_t rows, const T* value) {
      for (int64_t i = 0; i < rows; ++i, y += width) {
        if (value == nullptr) {
          std::fill_n(y, width, T(0));
        } else {
          std::copy_n(value, width, y);
        }
      }
    };
    for (int64_t s = 0; s < segments.count(); ++s) {
      pad(start_, before);
      const int64_t n = segments.length(s) * width;
      y = std::copy_n(x, n, y);
      x += n;
      pad(end_, behind);
    }
    if (OutputSize() > 1) WriteLengths(segments, start_ + end_, 1, Output(1));
    return true;
  }

 private:
  // The pad in input i, or null: zeros.
  template <typename T>
  const T* ReadPad(int i, int64_t width) const {
    if (InputSize() <= i) return nullptr;
    CAFFE_ENFORCE_EQ(Input(i).numel(), width, "elements of pad ", ShapeString(Input(i).sizes()));
    return Input(i).data<T>();
  }
};

class RemovePaddingOp final : public PaddingBase {
 public:
  using PaddingBase::PaddingBase;
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const Segments segments = ReadSegments(X, 1);
    for (int64_t s = 0; s < segments.count(); ++s) {
      CAFFE_ENFORCE_GE(segments.length(s), start_ + end_, "length of segment ", s,
                       ", which is to lose its padding");
    }
    RowCopier rows(X, X.size(0) - segments.count() * (start_ + end_), Output(0));
    int64_t begin = start_;
    for (int64_t s = 0; s < segments.count(); ++s) {
      rows.Append(begin, segments.length(s) - start_ - end_);
      begin += segments.length(s);
    }
    if (OutputSize() > 1) WriteLengths(segments, -(start_ + end_), 1, Output(1));
    return true;
  }
};

// The sums of all rows before, and of all behind, a segment: gradients of AddPadding's pads.
class GatherPaddingOp final : public PaddingBase {
 public:
  using PaddingBase::PaddingBase;
  bool RunOnDevice() override {
    return TensorTypes<float, double, int32_t, int64_t>::Dispatch(this, Input(0).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    const Segments segments = ReadSegments(X, 1);
    const int64_t width = X.size_from_dim(1);
    const std::vector<int64_t> dims(X.sizes().begin() + 1, X.sizes().end());
    T* sums[2] = {nullptr, nullptr};
    for (int k = 0; k < 2; ++k) {
      if (k < OutputSize()) {
        Output(k)->Resize(dims);
        sums[k] = Output(k)->mutable_data<T>();
        std::fill_n(sums[k], width, T(0));
      } else {
        sums[k] = sums[0];  // one pad for both ends
      }
    }
    const T* x = X.data<T>();
    for (int64_t s = 0; s < segments.count(); ++s) {
      CAFFE_ENFORCE_GE(segments.length(s), start_ + end_, "length of padded segment ", s);
      const int64_t last = (segments.length(s) - end_) * width;
      Add(start_, width, x, sums[0]);
      Add(end_, width, x + last, sums[1]);
      x += segments.length(s) * width;
    }
    return true;
  }

 private:
  template <typename T>
  static void Add(int64_t rows, int64_t width, const T* x, T* sum) {
    for (int64_t i = 0; i < rows * width; ++i) sum[i % width] += x[i];
  }
};

// The inputs of the gradient operators: the gradient and, if the rows are segments, the lengths
// that it has, those of the second output.
class PaddingGradientMaker : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;

 protected:
  std::vector<std::string> GradientInputs() {
    if (Def().input_size() == 1) return {GO(0)};
    CAFFE_ENFORCE_GT(Def().output_size(), 1, "the gradient of ", Def().type(),
                     " with lengths needs its second output");
    return {GO(0), O(1)};
  }
};
// dX are the rows between the pads; the pads get the sums of theirs.
class GetAddPaddingGradient final : public PaddingGradientMaker {
 public:
  using PaddingGradientMaker::PaddingGradientMaker;
  std::vector<OperatorDef> GetGradientDefs() override {
    const std::vector<std::string> inputs = GradientInputs();
    std::vector<OperatorDef> ops{CreateOperatorDef("RemovePadding", "", inputs, {GI(0)})};
    if (Def().input_size() > 2) {
      std::vector<std::string> pads{GI(2)};
      if (Def().input_size() > 3) pads.push_back(GI(3));
      ops.push_back(CreateOperatorDef("GatherPadding", "", inputs, pads));
    }
    return ops;
  }
};
class GetRemovePaddingGradient final : public PaddingGradientMaker {
 public:
  using PaddingGradientMaker::PaddingGradientMaker;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("AddPadding", "", GradientInputs(), std::vector{GI(0)});
  }
};

void Describe(OpSchema& schema) {
  schema.NumOutputs(1, 2)
      .Arg("padding_width", "(int >= 0, default 1) Rows before each segment.")
      .Arg("end_padding_width", "(int >= 0) Rows behind each. Default: as many as before.")
      .Input(1, "lengths", "Optional int32 or int64: the lengths of the segments. Default: one.")
      .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
        std::vector<TensorShape> out(def.output_size(), UnknownTensorShape());
        if (def.output_size() > 1 && in.size() > 1) out[1] = in[1];
        return out;
      });
}

}  // namespace

REGISTER_CPU_OPERATOR(AddPadding, AddPaddingOp);
REGISTER_CPU_OPERATOR(RemovePadding, RemovePaddingOp);
REGISTER_CPU_OPERATOR(GatherPadding, GatherPaddingOp);
OPERATOR_SCHEMA(AddPadding)
    .NumInputs(1, 4)
    .FillUsing(Describe)
    .SetDoc("Puts rows before and behind each segment of rows.")
    .Input(0, "data_in", "Rows of float, double, int32, int64 or bool.")
    .Input(2, "start_padding", "Optional: the row that is put before each. Default: zeros.")
    .Input(3, "end_padding", "Optional: the row that is put behind. Default: start_padding.")
    .Output(0, "data_out", "The rows and the pads.")
    .Output(1, "lengths_out", "Optional: the new lengths.");
OPERATOR_SCHEMA(RemovePadding)
    .NumInputs(1, 2)
    .FillUsing(Describe)
    .SetDoc("Takes the first and last rows of each segment away.")
    .Input(0, "data_in", "Rows of any type.")
    .Output(0, "data_out", "The other rows.")
    .Output(1, "lengths_out", "Optional: the new lengths.");
OPERATOR_SCHEMA(GatherPadding)
    .NumInputs(1, 2)
    .FillUsing(Describe)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      std::vector<int64_t> dims = GetDimsVector(in[0]);
      if (!dims.empty()) dims.erase(dims.begin());
      return std::vector<TensorShape>(def.output_size(),
                                      CreateTensorShape(dims, in[0].data_type()));
    })
    .SetDoc("The sums of all first and of all last rows of the segments.")
    .Input(0, "data_in", "Rows of float, double, int32 or int64.")
    .Output(0, "padding_sum", "The sum of the first rows (of all, if it is the only output).")
    .Output(1, "end_padding_sum", "Optional: the sum of the last rows.");
REGISTER_GRADIENT(AddPadding, GetAddPaddingGradient);
REGISTER_GRADIENT(RemovePadding, GetRemovePaddingGradient);
SHOULD_NOT_DO_GRADIENT(GatherPadding);

}  // namespace caffe2
