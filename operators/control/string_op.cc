// Functions of strings: StringPrefix, StringSuffix, StringStartsWith, StringEndsWith, StringEquals,
// StringJoin.
#include <sstream>

#include "caffe2/core/operator.h"
#include "operators/common/cpu_only.h"

namespace caffe2 {
namespace {

// Y[i] = function(X[i]), of type R. Function is constructed from the operator.
template <class Function, typename R>
class StringMapOp final : public Operator<CPUContext> {
 public:
  StringMapOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), function_(*this) {}
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const std::string* x = X.data<std::string>();
    Tensor* Y = Output(0);
    Y->ResizeLike(X);
    R* y = Y->mutable_data<R>();
    for (int64_t i = 0; i < X.numel(); ++i) y[i] = function_(x[i]);
    return true;
  }

 private:
  Function function_;
};

struct StringLength {
  explicit StringLength(const OperatorBase& op)
      : length(op.GetSingleArgument<int64_t>("length", 3)) {
    CAFFE_ENFORCE(length >= 0, "argument length must not be negative, found ", length);
  }
  size_t Of(const std::string& x) const { return std::min<size_t>(length, x.size()); }
  int64_t length;
};
struct Prefix : StringLength {
  using StringLength::StringLength;
  std::string operator()(const std::string& x) const { return x.substr(0, Of(x)); }
};
struct Suffix : StringLength {
  using StringLength::StringLength;
  std::string operator()(const std::string& x) const { return x.substr(x.size() - Of(x)); }
};
struct StartsWith {
  explicit StartsWith(const OperatorBase& op)
      : prefix(op.GetSingleArgument<std::string>("prefix", "")) {}
  bool operator()(const std::string& x) const { return x.starts_with(prefix); }
  std::string prefix;
};
struct EndsWith {
  explicit EndsWith(const OperatorBase& op)
      : suffix(op.GetSingleArgument<std::string>("suffix", "")) {}
  bool operator()(const std::string& x) const { return x.ends_with(suffix); }
  std::string suffix;
};
struct Equals {
  explicit Equals(const OperatorBase& op) : text(op.GetSingleArgument<std::string>("text", "")) {}
  bool operator()(const std::string& x) const { return x == text; }
  std::string text;
};

class StringJoinOp final : public Operator<CPUContext> {
 public:
  StringJoinOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        delimiter_(GetSingleArgument<std::string>("delimiter", ",")),
        axis_(GetSingleArgument<int>("axis", 0)) {
    CAFFE_ENFORCE(axis_ == 0 || axis_ == 1, "argument axis must be 0 or 1, found ", axis_);
  }
  bool RunOnDevice() override {
    return TensorTypes<float, double, int8_t, uint8_t, int16_t, uint16_t, int32_t, int64_t, bool,
                       std::string>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.dim() == 1 || X.dim() == 2, "X must have one or two axes, found shape ",
                  ShapeString(X.sizes()));
    CAFFE_ENFORCE(axis_ == 0 || X.dim() == 2, "X ", ShapeString(X.sizes()), " has no axis 1");
    const int64_t rows = X.size(0), columns = X.dim() == 2 ? X.size(1) : 1;
    const T* x = X.data<T>();
    Tensor* Y = Output(0);
    Y->Resize(axis_ == 0 ? rows : columns);
    std::string* y = Y->mutable_data<std::string>();
    for (int64_t i = 0; i < Y->numel(); ++i) {
      std::ostringstream text;
      for (int64_t j = 0; j < (axis_ == 0 ? columns : rows); ++j) {
        text << (axis_ == 0 ? x[i * columns + j] : x[j * columns + i]) << delimiter_;
      }
      y[i] = text.str();
    }
    return true;
  }

 private:
  std::string delimiter_;
  int axis_;
};

template <TensorProto::DataType type>
void Describe(OpSchema& schema) {
  schema.NumInputs(1)
      .NumOutputs(1)
      .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
        return std::vector<TensorShape>{CreateTensorShape(GetDimsVector(in[0]), type)};
      })
      .Input(0, "strings", "A tensor of strings.")
      .Output(0, "result",
              type == TensorProto::BOOL ? "Bool, shaped like the input."
                                        : "Strings, shaped like the input.");
}

}  // namespace

using StringPrefix = StringMapOp<Prefix, std::string>;
using StringSuffix = StringMapOp<Suffix, std::string>;
using StringStartsWith = StringMapOp<StartsWith, bool>;
using StringEndsWith = StringMapOp<EndsWith, bool>;
using StringEquals = StringMapOp<Equals, bool>;
REGISTER_CPU_OPERATOR(StringPrefix, StringPrefix);
REGISTER_CPU_OPERATOR(StringSuffix, StringSuffix);
REGISTER_CPU_OPERATOR(StringStartsWith, StringStartsWith);
REGISTER_CPU_OPERATOR(StringEndsWith, StringEndsWith);
REGISTER_CPU_OPERATOR(StringEquals, StringEquals);
REGISTER_CPU_OPERATOR(StringJoin, StringJoinOp);

OPERATOR_SCHEMA(StringPrefix)
    .FillUsing(Describe<TensorProto::STRING>)
    .SetDoc("The first bytes of each string.")
    .Arg<int>("length", "(>= 0, default 3) How many bytes; shorter strings stay as they are.")
    .CpuOnly(cpu_only::kFiles);
OPERATOR_SCHEMA(StringSuffix)
    .FillUsing(Describe<TensorProto::STRING>)
    .SetDoc("The last bytes of each string.")
    .Arg<int>("length", "(>= 0, default 3) How many bytes; shorter strings stay as they are.")
    .CpuOnly(cpu_only::kFiles);
OPERATOR_SCHEMA(StringStartsWith)
    .FillUsing(Describe<TensorProto::BOOL>)
    .SetDoc("Tells for each string whether it begins with a prefix.")
    .Arg<std::string>("prefix", "The prefix. Default: empty.")
    .CpuOnly(cpu_only::kFiles);
OPERATOR_SCHEMA(StringEndsWith)
    .FillUsing(Describe<TensorProto::BOOL>)
    .SetDoc("Tells for each string whether it ends with a suffix.")
    .Arg<std::string>("suffix", "The suffix. Default: empty.")
    .CpuOnly(cpu_only::kFiles);
OPERATOR_SCHEMA(StringEquals)
    .FillUsing(Describe<TensorProto::BOOL>)
    .SetDoc("Tells for each string whether it equals a text.")
    .Arg<std::string>("text", "The string. Default: empty.")
    .CpuOnly(cpu_only::kFiles);
OPERATOR_SCHEMA(StringJoin)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      const int axis = ArgumentHelper(def).GetSingleArgument<int>("axis", 0);
      if (axis < 0 || axis >= in[0].dims_size()) {
        return std::vector<TensorShape>{UnknownTensorShape()};
      }
      return std::vector<TensorShape>{CreateTensorShape({in[0].dims(axis)}, TensorProto::STRING)};
    })
    .SetDoc(
        "Writes the elements of each row, each followed by the delimiter, as one string. A list is "
        "a matrix of one column.")
    .Arg<std::string>("delimiter", "(default \",\") The text after each element.")
    .Arg<int>("axis", "(0 or 1, default 0) 0: one string for each row; 1: for each column.")
    .Input(0, "input", "Numbers, bools or strings, of one or two dimensions.")
    .Output(0, "strings", "One-dimensional strings.")
    .CpuOnly(cpu_only::kFiles);
SHOULD_NOT_DO_GRADIENT(StringPrefix);
SHOULD_NOT_DO_GRADIENT(StringSuffix);
SHOULD_NOT_DO_GRADIENT(StringStartsWith);
SHOULD_NOT_DO_GRADIENT(StringEndsWith);
SHOULD_NOT_DO_GRADIENT(StringEquals);
SHOULD_NOT_DO_GRADIENT(StringJoin);

}  // namespace caffe2
