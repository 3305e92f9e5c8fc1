#include "operators/elementwise/cast_op.h"

#include <limits>

#include "operators/common/element_type.h"

namespace caffe2 {
namespace {

template <typename To, typename From>
To ConvertNumber(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_same_v<To, std::string>) {
    return std::to_string(value);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // The bounds, as floating-point numbers just outside the range of To or on its edge.
    constexpr From low = static_cast<From>(std::numeric_limits<To>::min());
    constexpr From high = static_cast<From>(std::numeric_limits<To>::max());
    if (!(value > low)) return value == value ? std::numeric_limits<To>::min() : To(0);
    return value >= high ? std::numeric_limits<To>::max() : static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <typename From, typename To>
void Convert(int64_t n, const void* x, void* y) {
  const From* from = static_cast<const From*>(x);
  To* to = static_cast<To*>(y);
  if constexpr (kIs16Bit<From> && std::is_same_v<To, float>) {
    WidenRow(n, from, to);
  } else if constexpr (std::is_same_v<From, float> && kIs16Bit<To>) {
    NarrowRow(n, from, to);
  } else {
    for (int64_t i = 0; i < n; ++i) {
      to[i] = Narrow<To>(ConvertNumber<ArithmeticType<To>>(Widen(from[i])));
    }
  }
}

template <typename... Types>
struct NumberTypes {
  template <typename From>
  static ConvertFunction FindTo(TypeMeta to) {
    ConvertFunction found = nullptr;
    ((to.Match<Types>() && ((found = &Convert<From, Types>), true)) || ...);
    if (to.Match<std::string>()) found = &Convert<From, std::string>;
    return found;
  }
  static ConvertFunction Find(TypeMeta from, TypeMeta to) {
    ConvertFunction found = nullptr;
    ((from.Match<Types>() && ((found = FindTo<Types>(to)), true)) || ...);
    return found;
  }
};
using AllNumbers = NumberTypes<float, double, float16, bfloat16, bool, int8_t, int16_t, int32_t,
                               int64_t, uint8_t, uint16_t>;

// Casts back. The forward operator does not know the type of its input, so from_type must give it,
// as in Caffe2.
class GetCastGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  bool CopyArguments() const override { return false; }
  std::vector<OperatorDef> GetGradientDefs() override {
    const ArgumentHelper arguments(Def());
    const auto to = DataTypeArgument(arguments, "to", TensorProto::FLOAT);
    CAFFE_ENFORCE(arguments.HasArgument("from_type"),
                  "the gradient of Cast needs the argument from_type, the type of its input");
    const auto from = DataTypeArgument(arguments, "from_type", TensorProto::FLOAT);
    return SingleGradientDef(
        "Cast", "", std::vector<std::string>{GO(0)}, std::vector<std::string>{GI(0)},
        std::vector<Argument>{MakeArgument("to", static_cast<int>(from)),
                              MakeArgument("from_type", static_cast<int>(to))});
  }
};

}  // namespace

ConvertFunction FindConversion(TensorProto::DataType from, TensorProto::DataType to) {
  return AllNumbers::Find(DataTypeToTypeMeta(from), DataTypeToTypeMeta(to));
}

template <>
void CastOp<CPUContext>::Convert(ConvertFunction on_host, int64_t n, TypeMeta from, const void* x,
                                 TypeMeta to, void* y) {
  ParallelFor(n, kElementwiseGrain, [=](int64_t begin, int64_t end) {
    on_host(end - begin, static_cast<const char*>(x) + begin * from.itemsize(),
            static_cast<char*>(y) + begin * to.itemsize());
  });
}

REGISTER_CPU_OPERATOR(Cast, CastOp<CPUContext>);
OPERATOR_SCHEMA(Cast)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      std::vector<TensorShape> out = in;
      out[0].set_data_type(DataTypeArgument(ArgumentHelper(def), "to", TensorProto::FLOAT));
      return out;
    })
    .SetDoc(
        "Converts the elements to another type. Floating point to integer rounds towards "
        "zero; what does not fit becomes the nearest number that does, and NaN becomes 0. A string "
        "(in host memory only) has the number as C's %d or %f write it.")
    .Arg<TensorProto::DataType>("to", "(default FLOAT) The type of the output, as number or name.")
    .Arg<TensorProto::DataType>("from_type", "Type of the input; needed for the gradient only.")
    .Input(0, "input", "A tensor of numbers or bools.")
    .Output(0, "output", "The converted tensor, in the input's shape.");
REGISTER_GRADIENT(Cast, GetCastGradient);

}  // namespace caffe2
