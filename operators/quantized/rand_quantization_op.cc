// FloatToFusedRandRowwiseQuantized and back: rows of 1, 2, 4 or 8 bits an element, rounded at
// random so that the mean stays (stochastic rounding).
#include <algorithm>
#include <cmath>
#include <cstring>

#include "operators/quantized/quantized_rows.h"

namespace caffe2 {
namespace {

constexpr int64_t kHeader = 2 + 2 * sizeof(float);  // bits, unused elements, min, max
constexpr float kMinStep = 1e-8f;                   // keeps the step of equal elements above zero

// The layout of a row of floats in bytes. `per_byte` elements share a byte; element e is in byte e
// % bytes, at bit (e / bytes) * bits.
struct Packing {
  int bits = 8;
  int64_t width = 0;  // elements of a row

  int64_t per_byte() const { return 8 / bits; }
  int64_t bytes() const { return (width + per_byte() - 1) / per_byte(); }
  int64_t unused() const { return bytes() * per_byte() - width; }
  int levels() const { return (1 << bits) - 1; }
  float Step(float min, float max) const {
    return (max - min) / static_cast<float>(levels()) + kMinStep;
  }
};

void CheckBits(int bits) {
  CAFFE_ENFORCE(bits == 1 || bits == 2 || bits == 4 || bits == 8,
                "argument bitwidth must be 1, 2, 4 or 8, found ", bits);
}

class FloatToFusedRandRowwiseQuantizedOp final : public Operator<CPUContext> {
 public:
  FloatToFusedRandRowwiseQuantizedOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        bits_(GetSingleArgument<int>("bitwidth", 8)),
        random_(GetSingleArgument<bool>("random", true)) {
    CheckBits(bits_);
  }

  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.dim() == 2 && X.size(1) > 0, "X must be a matrix with columns, found shape ",
                  ShapeString(X.sizes()));
    const Packing packing{.bits = bits_, .width = X.size(1)};
    const int64_t stride = kHeader + packing.bytes();
    const float* x = X.data<float>();
    Output(0)->Resize(X.size(0), stride);
    uint8_t* y = Output(0)->mutable_data<uint8_t>();
    for (int64_t i = 0; i < X.size(0); ++i) Pack(packing, x + i * packing.width, y + i * stride);
    return true;
  }

 private:
  void Pack(const Packing& packing, const float* x, uint8_t* y) {
    const auto [min, max] = FindRowBounds(packing.width, x);
    y[0] = static_cast<uint8_t>(packing.bits);
    y[1] = static_cast<uint8_t>(packing.unused());
    std::memcpy(y + 2, &min, sizeof(float));
    std::memcpy(y + 2 + sizeof(float), &max, sizeof(float));
    const float inverse = 1 / packing.Step(min, max);
    uint8_t* packed = y + kHeader;
    const int64_t bytes = packing.bytes();
    std::fill_n(packed, bytes, uint8_t{0});
    for (int64_t e = 0; e < packing.width; ++e) {
      const int level = std::min(Round((x[e] - min) * inverse), packing.levels());
      packed[e % bytes] |= static_cast<uint8_t>(level << (e / bytes * packing.bits));
    }
  }

  int Round(float value) {
    return static_cast<int>(random_ ? std::floor(value + context_.random().Uniform())
                                    : std::nearbyint(value));
  }

  const int bits_;
  const bool random_;
};

class FusedRandRowwiseQuantizedToFloatOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.dim() == 2 && X.size(1) > kHeader, "X ", ShapeString(X.sizes()),
                  " must be a matrix of quantized rows, which have more than ", kHeader, " bytes");
    const uint8_t* x = X.data<uint8_t>();
    const Packing packing = X.size(0) == 0 ? Packing{} : ReadPacking(x, X.size(1));
    Output(0)->Resize(X.size(0), packing.width);
    float* y = Output(0)->mutable_data<float>();
    for (int64_t i = 0; i < X.size(0); ++i) {
      const uint8_t* row = x + i * X.size(1);
      CAFFE_ENFORCE(row[0] == x[0] && row[1] == x[1], "row ", i, " is of another width than row 0");
      Unpack(packing, row, y + i * packing.width);
    }
    return true;
  }

 private:
  static Packing ReadPacking(const uint8_t* row, int64_t stride) {
    CheckBits(row[0]);
    Packing packing{.bits = row[0]};
    CAFFE_ENFORCE(row[1] < packing.per_byte(), "a row is damaged: it says that ",
                  static_cast<int>(row[1]), " elements of its last byte, which holds ",
                  packing.per_byte(), ", are unused");
    packing.width = (stride - kHeader) * packing.per_byte() - row[1];
    return packing;
  }

  static void Unpack(const Packing& packing, const uint8_t* row, float* y) {
    float min, max;
    std::memcpy(&min, row + 2, sizeof(float));
    std::memcpy(&max, row + 2 + sizeof(float), sizeof(float));
    const float step = packing.Step(min, max);
    const int64_t bytes = packing.bytes();
    for (int64_t e = 0; e < packing.width; ++e) {
      const int level = row[kHeader + e % bytes] >> (e / bytes * packing.bits) & packing.levels();
      y[e] = static_cast<float>(level) * step + min;
    }
  }
};

std::vector<TensorShape> InferPacked(const OperatorDef& def, const std::vector<TensorShape>& in) {
  const int bits = ArgumentHelper(def).GetSingleArgument<int>("bitwidth", 8);
  CheckBits(bits);
  CAFFE_ENFORCE(in[0].dims_size() == 2, "the input must be a matrix, found ", in[0].dims_size(),
                " axes");
  const Packing packing{.bits = bits, .width = in[0].dims(1)};
  return {CreateTensorShape({in[0].dims(0), kHeader + packing.bytes()}, TensorProto::UINT8)};
}

}  // namespace

REGISTER_CPU_OPERATOR(FloatToFusedRandRowwiseQuantized, FloatToFusedRandRowwiseQuantizedOp);
REGISTER_CPU_OPERATOR(FusedRandRowwiseQuantizedToFloat, FusedRandRowwiseQuantizedToFloatOp);

OPERATOR_SCHEMA(FloatToFusedRandRowwiseQuantized)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction(InferPacked)
    .SetDoc(
        "Quantizes each row to 2^bitwidth levels from its least to its largest element. Each row "
        "starts with bitwidth and the number of unused elements (a byte each), least and largest "
        "element (floats).")
    .Arg<int>("bitwidth", "(1, 2, 4 or 8, default 8) Bits for each element.")
    .Arg<bool>("random",
               "(default 1) 1: rounds up with the probability that keeps the mean. 0: rounds to "
               "the nearest level.")
    .Input(0, "input", "Float N x D, finite.")
    .Output(0, "output", "uint8 N x (10 + D bitwidth / 8, rounded up).")
    .CpuOnly(kCpuOnly);
SHOULD_NOT_DO_GRADIENT(FloatToFusedRandRowwiseQuantized);

OPERATOR_SCHEMA(FusedRandRowwiseQuantizedToFloat)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>&) {
      return std::vector<TensorShape>{UnknownTensorShape()};  // the width is in the bytes
    })
    .SetDoc("The inverse of FloatToFusedRandRowwiseQuantized, but for rounding.")
    .Input(0, "quantized_input", "uint8: the output of FloatToFusedRandRowwiseQuantized.")
    .Output(0, "float_output", "Float N x D.")
    .CpuOnly(kCpuOnly);
SHOULD_NOT_DO_GRADIENT(FusedRandRowwiseQuantizedToFloat);

}  // namespace caffe2
